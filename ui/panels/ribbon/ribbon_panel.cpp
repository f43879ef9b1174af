#include "ui/panels/ribbon/ribbon_panel.h"

#include <QVBoxLayout>

#include "ui/panels/ribbon/ribbon_view.h"

namespace decodescope {
namespace {

class RibbonPanel : public Panel {
public:
    RibbonPanel(const PanelContext& context, QWidget* parent)
        : Panel(context, parent), view_(new RibbonView(context.selection, this)) {
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->addWidget(view_);
        setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
        setFocusProxy(view_);
    }

    void present(const PanelContext& context, unsigned changes) override {
        context_ = context;
        view_->present(context, changes);
    }

private:
    RibbonView* view_;
};

}  // namespace

Panel* create_ribbon_panel(const PanelContext& context, QWidget* parent) { return new RibbonPanel(context, parent); }

}  // namespace decodescope
