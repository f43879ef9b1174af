// What the engine says in English has a translation: sentences, strategies and their parameters. A new one is listed in
// ui/viewmodels/engine_words.cpp, collected by lupdate and translated.
#include <QTest>
#include <QTranslator>

#include "engine/cache/strategy_descriptor.h"
#include "engine/cache/supported_pairs.h"
#include "engine/measure/commentary.h"

using namespace decodescope;

class TranslationsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(chinese_.load(QStringLiteral(":/i18n/decodescope_zh_CN.qm"))); }

    void every_sentence_of_the_engine() {
        QVERIFY(!sentence_ids().empty());
        for (const std::string_view id : sentence_ids()) expect(std::string(sentence_pattern(id)));
    }

    void every_strategy_and_its_parameters() {
        for (const StrategyDescriptor& strategy : strategy_catalogue()) {
            expect(strategy.title);
            expect(strategy.explanation);
            for (const ParameterDescriptor& parameter : strategy.parameters) expect(parameter.help);
        }
    }

    void every_format_and_every_reason_against_a_pair() {
        for (const KvTypeInfo& info : kKvTypes) expect(std::string(info.help));
        for (const UnsupportedPair& pair : unsupported_pairs()) expect(std::string(pair.reason));
    }

private:
    void expect(const std::string& text) {
        const QString translated = chinese_.translate("engine", text.c_str());
        QVERIFY2(!translated.isEmpty(), text.c_str());
        // Every argument of the English text is there, too.
        for (int argument = 0; argument < 8; ++argument) {
            const QString place = QStringLiteral("{%1}").arg(argument);
            QVERIFY2(translated.contains(place) == QString::fromStdString(text).contains(place), text.c_str());
        }
    }

    QTranslator chinese_;
};

QTEST_MAIN(TranslationsTest)
#include "tst_translations.moc"
