// What a person chose for the window itself, kept between runs of the program.
#pragma once

#include <QSettings>
#include <QString>
#include <memory>

#include "ui/session/session_settings.h"

namespace decodescope {

enum class ThemeChoice { Light, Dark, System };

struct Preferences {
    ThemeChoice theme = ThemeChoice::System;
    QString language;                 // "en", "zh_CN"; empty: the system's
    double type_scale = 1.0;          // 0.7 .. 2.0
    QStringList presentation_panels;  // ids; empty: those that the catalogue proposes
    QStringList strips_hidden;        // strips outside the dock area that were closed
};

// The file behind it. Without one (pictures, tests) nothing is read and nothing is kept.
class PreferenceStore {
public:
    PreferenceStore() = default;
    explicit PreferenceStore(std::unique_ptr<QSettings> file) : file_(std::move(file)) {}
    // The place of this person's settings.
    static PreferenceStore of_person();

    Preferences load() const;
    void save(const Preferences& preferences);
    QByteArray layout() const;
    void save_layout(const QByteArray& layout);
    QByteArray geometry() const;
    void save_geometry(const QByteArray& geometry);
    // The last used folder for a purpose: "export", "recording".
    QString folder(const QString& purpose) const;
    void save_folder(const QString& purpose, const QString& folder);
    // The models that were opened last, the newest first, at most five.
    QStringList recent_models() const;
    void save_recent_model(const QString& path);

private:
    std::unique_ptr<QSettings> file_;
};

// "en" or "zh_CN": what is shown for a choice, the system's language for an empty one.
QString effective_language(const QString& choice);
bool effective_dark(ThemeChoice choice);

}  // namespace decodescope
