// What a model would need, shown before it is loaded: its shapes, the memory of weights and cache, and how long a token
// would take. The file is read by another thread; nothing of the running model changes until it is accepted.
#pragma once

#include <QDialog>
#include <functional>
#include <vector>

#include "engine/cache/kv_format.h"
#include "engine/model/model.h"
#include "kernels/api/backend.h"

class QDialogButtonBox;
class QFormLayout;
class QLabel;

namespace decodescope {

// How the run would be set up, and what this machine has.
struct ModelOfferRequest {
    QString path;
    WeightType weights = WeightType::AsInFile;
    KvFormat kv;
    std::int64_t available_bytes = 0;               // of memory; 0: not known
    std::function<double()> read_bytes_per_second;  // measures, takes some 100 ms; may be null
};

// One line of the offer; what is computed from shapes says so.
struct ModelOfferLine {
    QString name, text;
};

// The lines for a model; `read_bytes_per_second` 0: not known.
std::vector<ModelOfferLine> model_offer_lines(const ModelConfig& config, const ModelOfferRequest& request,
                                              double read_bytes_per_second);

class ModelOffer : public QDialog {
    Q_OBJECT
public:
    ModelOffer(const ModelOfferRequest& request, QWidget* parent);
    // Whether the answer is there: the lines, or why the model cannot be opened.
    bool ready() const { return ready_; }

private:
    void show_answer(const Result<ModelConfig>& config, double read_bytes_per_second);

    ModelOfferRequest request_;
    QLabel* state_;
    QFormLayout* form_;
    QDialogButtonBox* buttons_;
    bool ready_ = false;
};

}  // namespace decodescope
