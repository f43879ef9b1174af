// The form of a cache strategy, made from the parameters that its descriptor declares.
#pragma once

#include <QWidget>
#include <functional>
#include <vector>

#include "engine/cache/strategy_descriptor.h"

class QFormLayout;
class QLabel;

namespace decodescope {

class StrategyForm : public QWidget {
    Q_OBJECT
public:
    explicit StrategyForm(QWidget* parent = nullptr);
    // Rebuilds the rows when the strategy is another one, then fills in the values.
    void set_spec(const CacheSpec& spec);
    CacheSpec spec() const;

Q_SIGNALS:
    void changed();  // a value, by hand or by set_spec

private:
    struct Row {
        std::string name;
        std::function<std::int64_t()> read;
        std::function<void(std::int64_t)> write;
    };
    void build(const StrategyDescriptor& strategy);
    Row make_row(const ParameterDescriptor& parameter);

    QFormLayout* form_;
    QLabel* explanation_;
    std::string id_;
    std::vector<Row> rows_;
};

}  // namespace decodescope
