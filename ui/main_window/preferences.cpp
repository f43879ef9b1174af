#include "ui/main_window/preferences.h"

#include <QGuiApplication>
#include <QLocale>
#include <QPalette>
#include <algorithm>
#include <cmath>

namespace decodescope {

namespace {

constexpr double kSmallest = 0.7, kLargest = 2.0;

QString theme_name(ThemeChoice choice) {
    switch (choice) {
        case ThemeChoice::Light: return QStringLiteral("light");
        case ThemeChoice::Dark: return QStringLiteral("dark");
        case ThemeChoice::System: return QStringLiteral("system");
    }
    return {};
}

}  // namespace

PreferenceStore PreferenceStore::of_person() {
    return PreferenceStore(std::make_unique<QSettings>(QSettings::IniFormat, QSettings::UserScope,
                                                       QStringLiteral("decodescope"), QStringLiteral("decodescope")));
}

Preferences PreferenceStore::load() const {
    Preferences p;
    if (!file_) return p;
    const QString theme = file_->value(QStringLiteral("theme")).toString();
    for (ThemeChoice choice : {ThemeChoice::Light, ThemeChoice::Dark, ThemeChoice::System})
        if (theme == theme_name(choice)) p.theme = choice;
    p.language = file_->value(QStringLiteral("language")).toString();
    bool ok = false;
    const double scale = file_->value(QStringLiteral("type_scale")).toString().toDouble(&ok);
    if (ok && std::isfinite(scale)) p.type_scale = std::clamp(scale, kSmallest, kLargest);
    p.presentation_panels = file_->value(QStringLiteral("presentation_panels")).toStringList();
    p.strips_hidden = file_->value(QStringLiteral("strips_hidden")).toStringList();
    return p;
}

void PreferenceStore::save(const Preferences& p) {
    if (!file_) return;
    file_->setValue(QStringLiteral("theme"), theme_name(p.theme));
    file_->setValue(QStringLiteral("language"), p.language);
    file_->setValue(QStringLiteral("type_scale"), QString::number(p.type_scale, 'g', 4));
    file_->setValue(QStringLiteral("presentation_panels"), p.presentation_panels);
    file_->setValue(QStringLiteral("strips_hidden"), p.strips_hidden);
}

QByteArray PreferenceStore::layout() const {
    return file_ ? file_->value(QStringLiteral("layout")).toByteArray() : QByteArray();
}
void PreferenceStore::save_layout(const QByteArray& layout) {
    if (file_) file_->setValue(QStringLiteral("layout"), layout);
}
QByteArray PreferenceStore::geometry() const {
    return file_ ? file_->value(QStringLiteral("geometry")).toByteArray() : QByteArray();
}
void PreferenceStore::save_geometry(const QByteArray& geometry) {
    if (file_) file_->setValue(QStringLiteral("geometry"), geometry);
}
QString PreferenceStore::folder(const QString& purpose) const {
    return file_ ? file_->value(QStringLiteral("folder_") + purpose).toString() : QString();
}
void PreferenceStore::save_folder(const QString& purpose, const QString& folder) {
    if (file_) file_->setValue(QStringLiteral("folder_") + purpose, folder);
}

QStringList PreferenceStore::recent_models() const {
    return file_ ? file_->value(QStringLiteral("recent_models")).toStringList() : QStringList();
}
void PreferenceStore::save_recent_model(const QString& path) {
    if (!file_) return;
    QStringList recent = recent_models();
    recent.removeAll(path);
    recent.prepend(path);
    file_->setValue(QStringLiteral("recent_models"), recent.mid(0, 5));
}

QString effective_language(const QString& choice) {
    if (choice == QLatin1String("en") || choice == QLatin1String("zh_CN")) return choice;
    return QLocale::system().language() == QLocale::Chinese ? QStringLiteral("zh_CN") : QStringLiteral("en");
}

bool effective_dark(ThemeChoice choice) {
    if (choice != ThemeChoice::System) return choice == ThemeChoice::Dark;
    // The palette that the platform had before this program set its own.
    static const bool system_is_dark = QGuiApplication::palette().color(QPalette::Window).lightnessF() < 0.5F;
    return system_is_dark;
}

}  // namespace decodescope
