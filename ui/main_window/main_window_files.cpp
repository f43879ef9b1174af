// Files of the window: models, recordings and exports that are chosen or dropped.
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMimeData>

#include "engine/support/file.h"
#include "ui/main_window/export_dialog.h"
#include "ui/main_window/main_window.h"
#include "ui/main_window/model_offer.h"
#include "ui/main_window/settings_desk.h"

namespace decodescope {

namespace {

const QString kRecordingSuffix = QStringLiteral(".dscope");

QString dropped_recording(const QMimeData* data) {
    for (const QUrl& url : data->urls())
        if (url.isLocalFile() && url.toLocalFile().endsWith(kRecordingSuffix)) return url.toLocalFile();
    return {};
}

// A GGUF file, a folder with a configuration, or a file of such a folder; what it holds is read when it is offered.
QString model_of(const QString& path) {
    const QFileInfo info(path);
    if (info.isDir())
        return QFileInfo::exists(info.absoluteFilePath() + QStringLiteral("/config.json")) ? path : QString();
    if (path.endsWith(QStringLiteral(".gguf"))) return path;
    const bool of_folder = path.endsWith(QStringLiteral(".safetensors")) || path.endsWith(QStringLiteral(".json"));
    return of_folder ? model_of(info.absolutePath()) : QString();
}

QString dropped_model(const QMimeData* data) {
    for (const QUrl& url : data->urls()) {
        if (!url.isLocalFile()) continue;
        if (const QString model = model_of(url.toLocalFile()); !model.isEmpty()) return model;
    }
    return {};
}

}  // namespace

void MainWindow::choose_model_folder() {
    const QString folder =
        QFileDialog::getExistingDirectory(this, tr("Folder of a model"), store_->folder(QStringLiteral("model")));
    if (folder.isEmpty()) return;
    store_->save_folder(QStringLiteral("model"), QFileInfo(folder).absolutePath());
    offer_model(folder);
}

void MainWindow::choose_model_file() {
    const QString path = QFileDialog::getOpenFileName(
        this, tr("File of a model"), store_->folder(QStringLiteral("model")),
        tr("Models (*.gguf *.safetensors config.json model.safetensors.index.json);;All files (*)"));
    if (path.isEmpty()) return;
    store_->save_folder(QStringLiteral("model"), QFileInfo(path).absolutePath());
    const QString model = model_of(path);
    offer_model(model.isEmpty() ? path : model);
}

void MainWindow::offer_model(const QString& path) {
    ModelOfferRequest request;
    request.path = path;
    request.weights = desk_->wanted().weights;
    request.kv = desk_->wanted().kv;
    request.available_bytes = available_memory_bytes();
    if (machine_ != nullptr) request.read_bytes_per_second = machine_->reader();
    auto* offer = new ModelOffer(request, this);
    connect(offer, &QDialog::accepted, this, [this, path] {
        if (!session_->can(SessionAction::Open)) return;
        store_->save_recent_model(path);
        desk_->change([&](SessionSettings& s) { s.model = path; });
    });
    offer->open();
}

void MainWindow::choose_recording() {
    const QString path =
        QFileDialog::getOpenFileName(this, tr("Open a recording"), store_->folder(QStringLiteral("recording")),
                                     tr("Recordings (*.dscope);;All files (*)"));
    if (path.isEmpty()) return;
    session_->open_recording(path);
}

void MainWindow::choose_save() {
    QFileDialog dialog(this, tr("Save the run as a recording"), store_->folder(QStringLiteral("recording")),
                       tr("Recordings (*.dscope)"));
    dialog.setAcceptMode(QFileDialog::AcceptSave);
    dialog.setDefaultSuffix(kRecordingSuffix.mid(1));  // added before it asks whether a file may be replaced
    dialog.selectFile(QStringLiteral("run.dscope"));
    if (dialog.exec() == QDialog::Accepted && !dialog.selectedFiles().isEmpty())
        session_->save_recording(dialog.selectedFiles().constFirst());
}

void MainWindow::choose_export(const QString& export_id) {
    auto items = host_->exports();
    if (items.empty()) {
        say({SessionMessage::Kind::Warning, tr("There is nothing to export yet."), tr("Play a few steps first.")});
        return;
    }
    ExportDialog dialog(std::move(items), export_id, store_->folder(QStringLiteral("export")), this);
    if (dialog.exec() != QDialog::Accepted) return;
    if (export_item(dialog.item(), dialog.path(), dialog.size()))
        store_->save_folder(QStringLiteral("export"), QFileInfo(dialog.path()).absolutePath());
}

bool MainWindow::export_item(const ExportItem& item, const QString& path, const ExportSize& size) {
    const RecordingPtr recording = session_->recording();
    const Status written = write_export(item, recording ? recording->facts() : RunFacts(), path, size);
    if (written) status_->say(tr("exported %1").arg(QFileInfo(path).fileName()));
    else
        say({SessionMessage::Kind::Error, QString::fromStdString(written.error().message),
             QString::fromStdString(written.error().hint)});
    return written.ok();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    const bool recording = !dropped_recording(event->mimeData()).isEmpty();
    if (recording ? session_->can(SessionAction::OpenRecording)
                  : session_->can(SessionAction::Open) && !dropped_model(event->mimeData()).isEmpty())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    if (const QString path = dropped_recording(event->mimeData()); !path.isEmpty()) session_->open_recording(path);
    else if (const QString model = dropped_model(event->mimeData()); !model.isEmpty()) offer_model(model);
}

}  // namespace decodescope
