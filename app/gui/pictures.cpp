// Pictures without a display: the window, and the charts of a sweep.
#include <fmt/format.h>

#include <QApplication>
#include <QBuffer>
#include <QDir>
#include <QEventLoop>
#include <QImage>
#include <QPainter>
#include <QTemporaryFile>
#include <QTimer>
#include <algorithm>
#include <cmath>
#include <optional>

#include "app/gui/window_run.h"
#include "app/cli/output.h"
#include "engine/support/output_file.h"
#include "engine/trace/recording_file.h"
#include "ui/main_window/export_writer.h"
#include "ui/main_window/presentation.h"
#include "ui/main_window/shell.h"
#include "ui/widgets/chart_view.h"
#include "ui/widgets/comparison_figure.h"
#include "ui/widgets/sweep_chart.h"

namespace decodescope {

namespace {

constexpr int kPatienceMillis = 120000;  // without any news from the session, on a slow machine
constexpr int kStopMillis = 50;          // between two looks whether a stop was asked for

// An application that draws without a display, for as long as it is needed; an existing one is used as it is.
class OffscreenApplication {
public:
    explicit OffscreenApplication(double scale = 1.0) {
        if (QCoreApplication::instance() != nullptr) return;
        // Widgets that keep images of themselves make them as fine as the picture will be.
        if (scale != 1.0) qputenv("QT_SCALE_FACTOR", QByteArray::number(scale));
        qputenv("QT_QPA_PLATFORM", "offscreen");
        static int count = 1;
        static char name[] = "decodescope";
        static char* names[] = {name, nullptr};
        application_.emplace(count, names);
    }

private:
    std::optional<QApplication> application_;
};

// Runs the event loop until the condition holds; false when nothing has come for too long, `failed` says so or a stop
// was asked for.
bool wait_for(SessionController& session, const std::function<bool()>& done, const std::function<bool()>& failed,
              const std::stop_token& stop) {
    if (done()) return true;
    QEventLoop loop;
    QTimer patience, stops;
    QObject::connect(&stops, &QTimer::timeout, &loop, [&] {
        if (stop.stop_requested()) loop.quit();
    });
    stops.start(kStopMillis);
    patience.setSingleShot(true);
    const auto look = [&] {
        patience.start(kPatienceMillis);
        if (done() || failed()) loop.quit();
    };
    QObject::connect(&session, &SessionController::state_changed, &loop, look);
    QObject::connect(&session, &SessionController::steps_arrived, &loop, look);
    QObject::connect(&session, &SessionController::recording_replaced, &loop, look);
    QObject::connect(&session, &SessionController::message, &loop, look);
    QObject::connect(&patience, &QTimer::timeout, &loop, &QEventLoop::quit);
    patience.start(kPatienceMillis);
    loop.exec();
    return done();
}

Status write_bytes(const QByteArray& bytes, const std::string& path, OutputSet& files) {
    return files.add(path, std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
}

Status check_stop(const ShotRequest& request) {
    if (!request.stop.stop_requested()) return {};
    return make_error(ErrorKind::Cancelled,
                      "stopped before the picture was drawn; an older file of that name is unchanged.");
}

Status save_picture(const QImage& image, const std::string& path, OutputSet& files) {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    if (!image.save(&buffer, "png")) return make_error(ErrorKind::File, "The picture could not be encoded.");
    return write_bytes(bytes, path, files);
}

void settle(Shell& shell) {
    // Twice: laying out may make room for something that is presented then.
    for (int i = 0; i < 2; ++i) {
        QCoreApplication::processEvents();
        QCoreApplication::sendPostedEvents();
        shell.window()->host()->mark(EverythingChanged);
        shell.window()->host()->present_now();
    }
    QCoreApplication::processEvents();
}

// A picture smaller than the smallest window shows the whole of it smaller, not a corner.
double shrink_to_fit(const MainWindow& window, const ShotRequest& request) {
    const double shrink = std::min({1.0, static_cast<double>(request.width) / window.width(),
                                    static_cast<double>(request.height) / window.height()});
    if (shrink < 1)
        print_message("decodescope: the window is {}x{} at least; in the picture of {}x{} it is drawn as {}x{}.\n",
                      window.width(), window.height(), request.width, request.height,
                      std::lround(window.width() * shrink), std::lround(window.height() * shrink));
    return shrink;
}

Status draw_window(Shell& shell, const ShotRequest& request, OutputSet& files) {
    MainWindow* window = shell.window();
    window->setAttribute(Qt::WA_DontShowOnScreen, false);
    window->resize(request.width, request.height);
    window->show();
    if (!request.panel.empty()) {
        const QString id = QString::fromStdString(request.panel);
        if (window->host()->find(id) == nullptr)
            return make_error(ErrorKind::Argument, "There is no panel named " + request.panel + ".",
                              "decodescope list panels names them.");
        window->presentation()->set_alone(id);
    }
    window->resize(request.width, request.height);
    settle(shell);
    const double shrink = shrink_to_fit(*window, request);
    const QSize pixels(static_cast<int>(std::lround(request.width * request.scale)),
                       static_cast<int>(std::lround(request.height * request.scale)));
    QImage image(pixels, QImage::Format_ARGB32_Premultiplied);
    if (image.isNull()) return make_error(ErrorKind::Memory, "A picture of that size does not fit into memory.");
    image.setDevicePixelRatio(request.scale);
    image.fill(theme().color(Role::Background));
    QPainter painter(&image);
    painter.setRenderHint(QPainter::SmoothPixmapTransform);
    painter.translate((request.width - window->width() * shrink) / 2, (request.height - window->height() * shrink) / 2);
    painter.scale(shrink, shrink);
    window->render(&painter, QPoint(), QRegion(), QWidget::DrawWindowBackground | QWidget::DrawChildren);
    painter.end();
    return save_picture(image.convertToFormat(QImage::Format_RGB32), request.output, files);
}

ShellOptions shot_options(const ShotRequest& request) {
    ShellOptions options;
    options.registry = request.registry;
    options.resource_folder = QString::fromStdString(request.resource_folder);
    options.stored_preferences = false;
    options.preferences.theme = request.theme == "dark" ? ThemeChoice::Dark : ThemeChoice::Light;
    options.preferences.language = QString::fromStdString(request.language);
    return options;
}

// Loads, prefills and steps; the newest error message of the session becomes the error.
Status run_steps(Shell& shell, const ShotRequest& request) {
    SessionController& session = *shell.session();
    std::optional<Error> error;
    QObject::connect(&session, &SessionController::message, &session, [&error](const SessionMessage& message) {
        if (message.kind == SessionMessage::Kind::Error)
            error = make_error(ErrorKind::Model, message.text.toStdString(), message.hint.toStdString());
    });
    OpeningRequest opening;
    opening.settings.model = QString::fromStdString(request.model);
    opening.settings.backend = QString::fromStdString(request.backend);
    opening.settings.threads = request.threads;
    opening.settings.weights = request.weights;
    if (!request.caches.empty()) opening.settings.cache = request.caches.front();
    if (!request.kv_types.empty()) opening.settings.kv = request.kv_types.front();
    opening.settings.prompt = QString::fromStdString(request.prompt);
    opening.settings.new_tokens = std::max(1, request.steps + 1);
    opening.recording = QString::fromStdString(request.recording);
    opening.play = false;
    opening.tokens_per_second = 0;
    shell.open(opening);
    const auto failed = [&] {
        return error.has_value() ||
               (shell.opened() && session.state() == SessionState::Ready && session.step_count() == 0);
    };
    bool arrived = wait_for(
        session,
        [&] {
            return session.step_count() > 0 &&
                   (session.state() == SessionState::Ready || session.state() == SessionState::Replay);
        },
        failed, request.stop);
    if (arrived && !error && session.state() == SessionState::Ready && request.steps > 0 &&
        session.can(SessionAction::RunToEnd)) {
        session.run_to_end();
        arrived = wait_for(
            session,
            [&] {
                return session.state() == SessionState::Ready &&
                       (session.step_count() > request.steps || session.finished());
            },
            failed, request.stop);
    }
    DS_RETURN_IF_ERROR(check_stop(request));
    if (error) return *error;
    if (session.step_count() == 0)
        return make_error(ErrorKind::Model, "The model made no step.", "Choose a model that has a prompt of its own.");
    if (!arrived)
        return make_error(ErrorKind::Model,
                          "Step " + std::to_string(request.steps) + " was not reached; the run stands at step " +
                              std::to_string(session.step_count() - 1) + ".",
                          "Ask for fewer steps.");
    const int last = session.step_count() - 1;
    if (last < request.steps)  // the picture is still worth having, but not taken for another one
        print_message("decodescope: the run ends at step {}; the picture shows that one, not step {}.\n", last,
                   request.steps);
    session.view_step(std::min(request.steps, last));
    session.set_tokens_per_second(4);
    return {};
}

Status add_shot(const ShotRequest& request, OutputSet& files) {
    Shell shell(shot_options(request));
    DS_RETURN_IF_ERROR(run_steps(shell, request));
    return draw_window(shell, request, files);
}

}  // namespace

Status shot(const ShotRequest& request) {
    DS_RETURN_IF_ERROR(check_output(request.output));
    OffscreenApplication application(request.scale);
    OutputSet files;
    DS_RETURN_IF_ERROR(add_shot(request, files));
    DS_RETURN_IF_ERROR(check_stop(request));
    return files.commit();
}

Status write_window_picture(RecordingPtr recording, const ShotRequest& request, OutputSet& files) {
    OffscreenApplication application(request.scale);
    QTemporaryFile file(QDir::temp().filePath(QStringLiteral("decodescope-XXXXXX.dscope")));
    if (!file.open())
        return make_error(ErrorKind::File, "Cannot make a temporary file: " + file.errorString().toStdString() + ".");
    file.close();
    DS_RETURN_IF_ERROR(save_recording(*recording, file.fileName().toStdString(), {}, {}));
    ShotRequest from_file = request;
    from_file.recording = file.fileName().toStdString();
    return add_shot(from_file, files);
}

namespace {

// Drawn offscreen into basename.png, .svg and .pdf.
Status write_pictures(const ExportItem& item, const RunFacts& facts, const std::string& folder,
                      const std::string& basename, OutputSet& files) {
    for (const char* suffix : {"png", "svg", "pdf"}) {
        auto bytes = picture_bytes(item, run_facts_line(facts), QString::fromLatin1(suffix), ExportSize{});
        if (!bytes) return bytes.error();
        DS_RETURN_IF_ERROR(write_bytes(*bytes, folder + "/" + basename + "." + suffix, files));
    }
    return {};
}

}  // namespace

Status write_sweep_charts(const SweepResult& result, const std::string& folder, const std::string& basename,
                          OutputSet& files) {
    OffscreenApplication application;
    ExportItem item;
    item.title = QStringLiteral("Time per token against length");
    item.paint = [&result](QPainter& painter, const QRectF& area) {
        ChartView view;
        view.set_spec(sweep_chart(result, false));
        view.paint(painter, area);
    };
    return write_pictures(item, result.run, folder, basename, files);
}

Status write_compare_figure(const CompareResult& result, const std::string& folder, const std::string& basename,
                            OutputSet& files) {
    OffscreenApplication application;
    ExportItem item;
    item.title = QStringLiteral("Configurations compared");
    item.paint = [&result](QPainter& painter, const QRectF& area) { paint_comparison(painter, area, result); };
    return write_pictures(item, result.run, folder, basename, files);
}

}  // namespace decodescope
