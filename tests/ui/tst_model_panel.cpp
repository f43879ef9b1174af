// The model card in the window: closed at first, read by keyboard and by screen readers, scrolled where it is small;
// and what the window says of a chat template.
#include <QScrollArea>
#include <QScrollBar>

#include "tests/support/tiny_models.h"
#include "tests/ui/window_fixture.h"
#include "ui/main_window/model_offer.h"
#include "ui/main_window/settings_popover.h"
#include "ui/panels/model/model_view.h"

using namespace decodescope;
using namespace decodescope::testing;

namespace {

ModelConfig two_kinds() {
    ModelConfig config = tiny_llama_config();
    config.family = Family::Gemma3;
    config.layers = 18;
    config.window = 16;
    for (int layer = 0; layer < 18; ++layer) config.local_layers.push_back((layer + 1) % 6 != 0);
    return config;
}

}  // namespace

class ModelPanelTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { fail_on_warnings(); }

    void closed_until_it_is_asked_for() {
        WindowFixture f;
        const QString id = QStringLiteral("model");
        QVERIFY(!f.window()->panel_shown(id));
        QVERIFY(f.start());
        f.window()->set_panel_shown(id, true);
        const PanelHost::Entry* entry = f.window()->host()->find(id);
        QVERIFY(f.wait([&] { return entry->card->in_view(); }));
        f.window()->host()->present_now();
        auto* view = entry->panel->findChild<ModelView*>();
        QCOMPARE(view->card().local.size(), static_cast<std::size_t>(f.session()->recording()->facts().config.layers));
        QVERIFY(!view->accessibleName().isEmpty());
        QVERIFY(view->accessibleDescription().contains(QStringLiteral("KV heads")));
        bool exported = false;
        for (const ExportItem& item : f.window()->host()->exports())
            exported |= item.id == QLatin1String("model-card") && item.paint && item.csv && item.json;
        QVERIFY(exported);
    }

    // The scroll area takes the keyboard, and its keys reach the end.
    void keys_scroll_a_small_card() {
        WindowFixture f;
        QVERIFY(f.start());
        f.window()->set_panel_shown(QStringLiteral("model"), true);
        const PanelHost::Entry* entry = f.window()->host()->find(QStringLiteral("model"));
        QVERIFY(f.wait([&] { return entry->card->in_view(); }));
        f.window()->host()->present_now();
        auto* area = entry->panel->findChild<QScrollArea*>();
        QVERIFY(f.wait([&] { return area->verticalScrollBar()->maximum() > 0; }));
        QVERIFY(area->focusPolicy() & Qt::TabFocus);
        area->setFocus();
        for (int i = 0; i < 200; ++i) QTest::keyClick(area, Qt::Key_Down);
        QCOMPARE(area->verticalScrollBar()->value(), area->verticalScrollBar()->maximum());
    }

    // Nothing is cut off at any width: the height that is asked for grows as the view gets narrower, and what is drawn
    // stays within it.
    void fits_every_width() {
        ModelView view;
        view.set_card(model_card(two_kinds(), {}));
        double before = 0;
        for (const int width : {1400, 900, 640, 420, 260}) {
            const int height = view.heightForWidth(width);
            QVERIFY2(height >= before || width >= 900, qPrintable(QString::number(width)));
            before = height;
            QImage image(width, height + 60, QImage::Format_RGB32);
            image.fill(theme().color(Role::Card));
            view.resize(width, height + 60);
            view.render(&image);
            const QRgb card = theme().color(Role::Card).rgb();
            for (int y = height + 1; y < image.height(); ++y)
                for (int x = 0; x < width; ++x) QCOMPARE(image.pixel(x, y), card);
            bool drawn = false;
            for (int x = 0; x < width; ++x) drawn = drawn || image.pixel(x, height / 2) != card;
            QVERIFY(drawn);
        }
    }

    void a_chat_template_is_said_and_not_applied() {
        ModelConfig config = two_kinds();
        const auto says = [&] {
            for (const ModelOfferLine& line : model_offer_lines(config, {}, 0))
                if (line.name == QLatin1String("Chat template")) return line.text;
            return QString();
        };
        QVERIFY(says().isEmpty());
        config.chat_template = true;
        QVERIFY2(says().contains(QStringLiteral("not applied")), qPrintable(says()));
        const ModelPtr plain = make_tiny_llama();
        QVERIFY(PromptPopover::sent_words(nullptr).isEmpty());
        QVERIFY(PromptPopover::sent_words(plain.get()).isEmpty());
        Model with = *plain;
        with.config.chat_template = true;
        QVERIFY(PromptPopover::sent_words(&with).contains(QStringLiteral("not applied")));
    }

    // The offer counts local layers with their window.
    void the_offer_counts_by_kind() {
        ModelOfferRequest request;
        const ModelConfig config = two_kinds();
        request.available_bytes = std::int64_t{1} << 40;
        QString cache;
        for (const ModelOfferLine& line : model_offer_lines(config, request, 0))
            if (line.name == QLatin1String("KV cache")) cache = line.text;
        // 2 (K and V) · 2 KV heads · 8 · 4 bytes = 128 B a row; 3 · 128 rows and 15 · 16 rows.
        QVERIFY2(cache.contains(QStringLiteral("78.0 KiB at full context")), qPrintable(cache));
    }
};

QTEST_MAIN(ModelPanelTest)
#include "tst_model_panel.moc"
