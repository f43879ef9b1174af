// Files of the window: models, recordings and exports that are chosen or dropped.
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMimeData>

#include "ui/main_window/export_dialog.h"
#include "ui/main_window/main_window.h"
#include "ui/main_window/settings_desk.h"

namespace decodescope {

namespace {

const QString kRecordingSuffix = QStringLiteral(".dscope");

QString dropped_recording(const QMimeData* data) {
    for (const QUrl& url : data->urls())
        if (url.isLocalFile() && url.toLocalFile().endsWith(kRecordingSuffix)) return url.toLocalFile();
    return {};
}

}  // namespace

void MainWindow::choose_model_folder() {
    const QString folder =
        QFileDialog::getExistingDirectory(this, tr("Folder of a model"), store_->folder(QStringLiteral("model")));
    if (folder.isEmpty()) return;
    store_->save_folder(QStringLiteral("model"), QFileInfo(folder).absolutePath());
    desk_->change([&](SessionSettings& s) { s.model = folder; });
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
    if (!dropped_recording(event->mimeData()).isEmpty() && session_->can(SessionAction::OpenRecording))
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    if (const QString path = dropped_recording(event->mimeData()); !path.isEmpty()) session_->open_recording(path);
}

}  // namespace decodescope
