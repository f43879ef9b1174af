// LD-10: where decimals are written with a comma, every box of the window takes back what it shows, and a comma that is
// typed is never lost.
#include <QDoubleSpinBox>
#include <QLineEdit>

#include "tests/ui/window_fixture.h"
#include "ui/main_window/export_dialog.h"

using namespace decodescope;
using namespace decodescope::testing;

namespace {

QLineEdit* edit_of(QAbstractSpinBox* box) { return box->findChild<QLineEdit*>(); }

// Key by key, as a person types: what the box refuses is not entered.
void type(QAbstractSpinBox* box, const QString& text) {
    QLineEdit* edit = edit_of(box);
    edit->selectAll();
    for (const QChar letter : text) edit->insert(QString(letter));
    box->interpretText();
}

template <class Box>
void check_takes_back(Box* box, decltype(box->value()) value) {
    box->setValue(value);
    const auto before = box->value();
    const QString shown = edit_of(box)->text(), number = box->cleanText();
    box->setValue(box->minimum());
    edit_of(box)->selectAll();
    edit_of(box)->insert(shown);  // with its unit, as pasted
    box->interpretText();
    QCOMPARE(box->value(), before);
    box->setValue(box->minimum());
    type(box, number);
    QCOMPARE(box->value(), before);
    QCOMPARE(edit_of(box)->text(), shown);
}

int check_all(QWidget* form) {
    int decimals = 0;
    for (auto* box : form->findChildren<QDoubleSpinBox*>()) {
        for (const double share : {0.1234, 0.5, 0.987})
            check_takes_back(box, box->minimum() + share * (box->maximum() - box->minimum()));
        ++decimals;
    }
    for (auto* box : form->findChildren<QSpinBox*>())
        for (const int value : {box->minimum() + 1, std::min(box->maximum(), 12345), box->maximum()})
            check_takes_back(box, value);
    return decimals;
}

class German {
public:
    German() { QLocale::setDefault(QLocale(QLocale::German, QLocale::Germany)); }
    ~German() { QLocale::setDefault(before_); }

private:
    QLocale before_;
};

}  // namespace

class LocaleTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { fail_on_warnings(); }

    void boxes_take_back_what_they_show() {
        const German locale;
        QCOMPARE(QLocale().decimalPoint(), QStringLiteral(","));
        WindowFixture f;
        QVERIFY(f.start());
        f.window()->open_settings();
        QVERIFY(check_all(f.window()) >= 2);  // temperature and top-p
        ExportItem item;
        item.id = QStringLiteral("x");
        item.paint = [](QPainter&, const QRectF&) {};
        ExportDialog dialog({item}, item.id, QString(), f.window());
        QVERIFY(check_all(&dialog) >= 3);  // scale, width and height on paper
    }

    void a_comma_is_read_as_a_point() {
        const German locale;
        WindowFixture f;
        QVERIFY(f.start());
        f.window()->open_settings();
        for (auto* box : f.window()->findChildren<QDoubleSpinBox*>()) {
            type(box, QStringLiteral("0,25"));
            QCOMPARE(box->value(), 0.25);
            type(box, QStringLiteral("0.75"));
            QCOMPARE(box->value(), 0.75);
        }
    }
};

QTEST_MAIN(LocaleTest)
#include "tst_locale.moc"
