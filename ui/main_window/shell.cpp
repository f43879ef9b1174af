#include "ui/main_window/shell.h"

#include <QApplication>
#include <QLibraryInfo>
#include <QScreen>
#include <algorithm>

#include "ui/main_window/app_icon.h"
#include "ui/main_window/presentation.h"

namespace decodescope {

namespace {

PreferenceStore make_store(const ShellOptions& options) {
    if (!options.settings_file.isEmpty())
        return PreferenceStore(std::make_unique<QSettings>(options.settings_file, QSettings::IniFormat));
    return options.stored_preferences ? PreferenceStore::of_person() : PreferenceStore();
}

std::unique_ptr<SessionController> make_session(ShellOptions& options) {
    if (options.driver)
        return std::make_unique<SessionController>(std::move(options.registry), std::move(options.driver));
    return std::make_unique<SessionController>(std::move(options.registry), options.resource_folder);
}

}  // namespace

Shell::Shell(ShellOptions options, QObject* parent)
    : QObject(parent),
      store_(make_store(options)),
      preferences_(options.stored_preferences || !options.settings_file.isEmpty() ? store_.load()
                                                                                  : options.preferences),
      machine_(options.measure_machine),
      session_(make_session(options)) {
    apply_theme(
        Theme(effective_dark(preferences_.theme) ? Theme::Mode::Dark : Theme::Mode::Light, preferences_.type_scale));
    load_language(effective_language(preferences_.language));
    QApplication::setWindowIcon(app_icon());
    make_window();
    connect(session_.get(), &SessionController::state_changed, this, &Shell::go_on_opening);
    connect(session_.get(), &SessionController::recording_replaced, this, &Shell::choose_head);
}

// Another model starts with a head worth looking at: one that finds the earlier mention, where the model card names
// one.
void Shell::choose_head() {
    const RecordingPtr recording = session_->recording();
    if (!recording) return;
    const RunFacts& facts = recording->facts();
    selection_.clamp(static_cast<int>(facts.config.layers), static_cast<int>(facts.config.heads));
    if (facts.model_identity == seen_model_) return;
    seen_model_ = facts.model_identity;
    const auto best = std::max_element(facts.head_roles.begin(), facts.head_roles.end(),
                                       [](const HeadRole& a, const HeadRole& b) { return a.induction < b.induction; });
    if (best != facts.head_roles.end() && best->induction > 0) selection_.set_layer_head(best->layer, best->head);
}

Shell::~Shell() { window_.reset(); }

void Shell::make_window() {
    auto next = std::make_unique<MainWindow>(session_.get(), &selection_, &store_, preferences_);
    next->set_machine(&machine_);
    // Later, because it is asked for from a menu of the window that it replaces.
    connect(
        next.get(), &MainWindow::preferences_changed, this,
        [this](const Preferences& changed) { apply_preferences(changed); }, Qt::QueuedConnection);
    if (window_) {
        window_->presentation()->set_active(false);
        window_->presentation()->set_alone(QString());
        store_.save_layout(window_->docks()->layout_state());
        next->setGeometry(window_->geometry());
        const bool visible = window_->isVisible(), maximized = window_->isMaximized();
        if (visible) maximized ? next->showMaximized() : next->show();
        window_->hide();
        window_.release()->deleteLater();
    } else {
        const QScreen* screen = QGuiApplication::primaryScreen();
        // No larger than the screen: not every desktop, and no bare display, makes it so.
        next->resize(QSize(1440, 900).boundedTo(screen == nullptr ? QSize(1440, 900) : screen->availableSize()));
        if (const QByteArray geometry = store_.geometry(); !geometry.isEmpty()) next->restoreGeometry(geometry);
    }
    window_ = std::move(next);
    Q_EMIT window_replaced();
}

void Shell::apply_preferences(const Preferences& preferences) {
    const Preferences before = std::exchange(preferences_, preferences);
    const double presented = window_->presentation()->active() ? Presentation::kTypeScale : 1.0;
    const Theme wanted(effective_dark(preferences.theme) ? Theme::Mode::Dark : Theme::Mode::Light,
                       preferences.type_scale * presented);
    if (wanted.mode() != theme().mode() || preferences.type_scale != before.type_scale) {
        apply_theme(wanted);
        window_->theme_changed();
    }
    if (const QString language = effective_language(preferences.language); language != language_) {
        load_language(language);
        make_window();
    }
}

void Shell::load_language(const QString& language) {
    QCoreApplication::removeTranslator(&translator_);
    QCoreApplication::removeTranslator(&qt_translator_);
    language_ = language;
    if (language == QLatin1String("en")) return;
    if (qt_translator_.load(QStringLiteral("qtbase_") + language, QLibraryInfo::path(QLibraryInfo::TranslationsPath)))
        QCoreApplication::installTranslator(&qt_translator_);
    if (translator_.load(QStringLiteral(":/i18n/decodescope_") + language))
        QCoreApplication::installTranslator(&translator_);
}

void Shell::open(const OpeningRequest& request) {
    opening_ = request;
    session_->set_tokens_per_second(request.tokens_per_second);
    if (!request.recording.isEmpty()) {
        session_->open_recording(request.recording);
        return;
    }
    stage_ = Opening::Loading;
    session_->apply(request.settings);
    go_on_opening();
}

// Model first, because the presets come with it; then the first preset of the language; then it plays.
void Shell::go_on_opening() {
    if (stage_ == Opening::Done || session_->state() != SessionState::Ready) return;
    if (stage_ == Opening::Loading && session_->step_count() == 0 && session_->model() &&
        opening_.settings.prompt.isEmpty()) {
        const auto& presets = session_->model()->presets;
        auto chosen = std::find_if(presets.begin(), presets.end(), [&](const PromptPreset& p) {
            return QString::fromStdString(p.language) == language_;
        });
        if (chosen == presets.end()) chosen = presets.begin();
        stage_ = chosen == presets.end() ? Opening::Done : Opening::Prefilling;
        if (stage_ == Opening::Done) return;
        SessionSettings settings = session_->settings();
        settings.preset_id = QString::fromStdString(chosen->id);
        settings.prompt = QString::fromStdString(chosen->text);
        session_->apply(settings);
        return;
    }
    if (session_->step_count() == 0) return;
    stage_ = Opening::Done;
    if (opening_.play && session_->can(SessionAction::Play)) session_->play();
}

}  // namespace decodescope
