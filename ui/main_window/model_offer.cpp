#include "ui/main_window/model_offer.h"

#include <QCoreApplication>
#include <QDialogButtonBox>
#include <QFileInfo>
#include <QFormLayout>
#include <QLabel>
#include <QPointer>
#include <QPushButton>
#include <QStyle>
#include <QThreadPool>
#include <QVBoxLayout>
#include <exception>
#include <memory>

#include "engine/measure/what_if.h"
#include "engine/model/layer_kinds.h"
#include "ui/viewmodels/format.h"

namespace decodescope {

namespace {

ElementType kept_type(const ModelConfig& config, WeightType type) {
    switch (type) {
        case WeightType::F32: return ElementType::F32;
        case WeightType::F16: return ElementType::F16;
        case WeightType::BF16: return ElementType::BF16;
        case WeightType::Int8: return ElementType::I8;
        case WeightType::AsInFile: break;
    }
    return config.file_type;
}

constexpr int kTextWidth = 400;  // of the right column, pixels

// Of the matrices in the file; where nothing is said they have the type in which they are read.
QString stored_name(const ModelConfig& config) {
    return config.stored_as.empty() ? QString::fromUtf8(element_name(config.file_type).data())
                                    : QString::fromStdString(config.stored_as);
}

// A file may ask for more memory than there is.
Result<ModelConfig> described(const std::string& path) {
    try {
        return describe_model(path, {});
    } catch (const std::exception& error) {
        return make_error(ErrorKind::Memory, path + " cannot be read: " + error.what() + ".");
    }
}

QString derived(const QString& text) { return ModelOffer::tr("%1 [derived]").arg(text); }

}  // namespace

std::vector<ModelOfferLine> model_offer_lines(const ModelConfig& config, const ModelOfferRequest& request,
                                              double read_bytes_per_second) {
    const auto count = [](std::int64_t n) { return format_count(n); };
    const KvShape kv = KvShape::of(config, request.kv);
    const ElementType type = kept_type(config, request.weights);
    const bool as_stored = request.weights == WeightType::AsInFile && config.kept_bytes > 0;
    const std::int64_t weights = as_stored ? config.kept_bytes : config.weight_bytes(type),
                       cache = kept_bytes(config, request.kv, config.context);
    QString kept = ModelOffer::tr("%1 in %2").arg(
        format_bytes(weights), as_stored ? stored_name(config) : QString::fromUtf8(element_name(type).data()));
    if (config.widened_bytes > 0)
        kept = ModelOffer::tr("%1, and %2 made of the file's %3")
                   .arg(kept, format_bytes(config.widened_bytes), stored_name(config));
    std::vector<ModelOfferLine> lines = {
        {ModelOffer::tr("Architecture"),
         ModelOffer::tr("%1, %2 layers, %3 wide, %4 query heads and %5 KV heads of %6")
             .arg(QString::fromUtf8(family_name(config.family).data()), count(config.layers), count(config.hidden),
                  count(config.heads), count(config.kv_heads), count(config.head_dim))},
        {ModelOffer::tr("Context"), ModelOffer::tr("%1 tokens").arg(count(config.context))},
        {ModelOffer::tr("Parameters"), count(config.parameters())},
        {ModelOffer::tr("Weights in memory"), derived(kept)},
        {ModelOffer::tr("KV cache"),
         derived(ModelOffer::tr("%1 for the first token, %2 at full context, as %3")
                     .arg(format_bytes(kv.stored_bytes(1)), format_bytes(cache),
                          QString::fromStdString(to_string(request.kv))))}};
    if (const LayerKind local = local_kind(config); local.layers > 0)
        lines.push_back({ModelOffer::tr("Attention"),
                         ModelOffer::tr("%1 of %2 layers attend to the last %3 tokens and keep no more")
                             .arg(local.layers)
                             .arg(config.layers)
                             .arg(local.window)});
    if (config.chat_template)
        lines.push_back({ModelOffer::tr("Chat template"),
                         ModelOffer::tr("the file has one; it is not applied, text is sent as it is typed")});
    if (request.available_bytes > 0) {
        const std::int64_t need = weights + config.widened_bytes + cache;
        lines.push_back({ModelOffer::tr("Memory"),
                         (need <= request.available_bytes
                              ? ModelOffer::tr("fits: %1 with a full context, %2 are free")
                              : need - cache <= request.available_bytes
                              ? ModelOffer::tr("fits with a shorter text: %1 with a full context, %2 are free")
                              : ModelOffer::tr("does not fit: %1 with a full context, %2 are free"))
                             .arg(format_bytes(need), format_bytes(request.available_bytes))});
    }
    if (read_bytes_per_second > 0)
        lines.push_back({ModelOffer::tr("Expected"),
                         ModelOffer::tr("about %1 per token at first [derived]: the weights are read once, at %2 GB/s "
                                        "[measured]")
                             .arg(format_micros(1e6 * static_cast<double>(weights) / read_bytes_per_second))
                             .arg(read_bytes_per_second * 1e-9, 0, 'f', 1)});
    return lines;
}

ModelOffer::ModelOffer(const ModelOfferRequest& request, QWidget* parent)
    : QDialog(parent),
      request_(request),
      state_(new QLabel(tr("Reading what the model needs…"), this)),
      form_(new QFormLayout),
      buttons_(new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this)) {
    const QString name = QFileInfo(request.path).fileName();
    setWindowTitle(tr("Open %1").arg(name));
    setAttribute(Qt::WA_DeleteOnClose);
    state_->setWordWrap(true);
    state_->setMinimumWidth(420);
    buttons_->button(QDialogButtonBox::Ok)->setText(tr("Load"));
    buttons_->button(QDialogButtonBox::Ok)->setProperty("accent", true);
    buttons_->button(QDialogButtonBox::Ok)->setEnabled(false);
    buttons_->button(QDialogButtonBox::Cancel)->setText(tr("Cancel"));
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(state_);
    layout->addLayout(form_);
    layout->addWidget(buttons_);
    connect(buttons_, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons_, &QDialogButtonBox::rejected, this, &QDialog::reject);
    QThreadPool::globalInstance()->start([self = QPointer<ModelOffer>(this), request] {
        auto config = std::make_shared<Result<ModelConfig>>(described(request.path.toStdString()));
        const double rate = config->ok() && request.read_bytes_per_second ? request.read_bytes_per_second() : 0;
        QMetaObject::invokeMethod(
            QCoreApplication::instance(),
            [self, config, rate] {
                if (self) self->show_answer(*config, rate);
            },
            Qt::QueuedConnection);
    });
}

void ModelOffer::show_answer(const Result<ModelConfig>& config, double read_bytes_per_second) {
    ready_ = true;
    if (!config.ok()) {
        state_->setText(QString::fromStdString(config.error().text()));
        buttons_->button(QDialogButtonBox::Ok)->hide();
        buttons_->button(QDialogButtonBox::Cancel)->setText(tr("Close"));
        return;
    }
    state_->setText(tr("The running model stays until this one is ready."));
    for (const ModelOfferLine& line : model_offer_lines(*config, request_, read_bytes_per_second)) {
        auto* text = new QLabel(line.text, this);
        text->setTextInteractionFlags(Qt::TextSelectableByMouse);
        text->setWordWrap(true);
        text->setFixedWidth(kTextWidth);
        text->ensurePolished();  // its type, which decides how many lines it takes
        text->setMinimumHeight(text->heightForWidth(kTextWidth));
        form_->addRow(line.name, text);
    }
    buttons_->button(QDialogButtonBox::Ok)->setEnabled(true);
    QPushButton* load = buttons_->button(QDialogButtonBox::Ok);
    load->style()->unpolish(load);  // the box has polished it before it was marked as the accent
    load->style()->polish(load);
    load->setFocus();
    adjustSize();
    // It has grown where the window system had put it: back over the window.
    if (parentWidget() != nullptr) move(parentWidget()->window()->geometry().center() - rect().center());
}

}  // namespace decodescope
