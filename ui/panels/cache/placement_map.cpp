#include "ui/panels/cache/placement_map.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/widgets/painting.h"
#include "ui/widgets/view_events.h"

namespace decodescope {
namespace {

constexpr double kLargestSlot = 40;
constexpr int kMostSheets = 4;
constexpr double kSheet = 3;  // visible height of the card of one more layer

}  // namespace

PlacementMap::PlacementMap(Selection* selection, QWidget* parent)
    : QWidget(parent), selection_(selection), across_(new QScrollBar(Qt::Horizontal, this)) {
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Cache map: positions above, memory below"));
    describe();
    across_->setFocusPolicy(Qt::NoFocus);
    across_->hide();
    connect(across_, &QScrollBar::valueChanged, this, [this](int value) {
        if (fitted_ || std::abs(value - first_slot_) < 0.5) return;
        first_slot_ = value;
        following_ = false;
        place();
        update();
    });
}

QSize PlacementMap::minimumSizeHint() const { return {260, static_cast<int>(110 * theme().type_scale())}; }

int PlacementMap::seen() const {
    if (!view_.facts) return 0;
    return std::min(static_cast<int>(std::max<std::int64_t>(view_.facts->kv.tokens_seen, 0)), tokens_.positions());
}

std::optional<FormatMarks> PlacementMap::marks() const {
    return context_.recording ? format_marks(context_.recording->facts().kv_type, seen()) : std::nullopt;
}

PlacementMap::Frame PlacementMap::frame_for(const QRectF& area) const {
    const Theme& t = theme();
    const double note = text_height(t.note());
    const double label = std::ceil(std::max({text_width(t.note(), tr("position")), text_width(t.note(), tr("sequence")),
                                             text_width(t.note(), tr("memory"))})) +
                         12;
    const double left = area.left() + label, width = area.width() - label - 2;
    Frame frame;
    double bottom = area.bottom();
    const auto from_below = [&](double height, double gap) {
        bottom -= height + gap;
        return QRectF(left, bottom, width, height);
    };
    frame.legend = from_below(note + 4, 0);
    frame.sentence = from_below(note + 4, 2);
    if (!fitted_) bottom -= 9;
    frame.slot_axis = from_below(note, 2);
    frame.pointer = from_below(std::round(8 * t.type_scale()), 0);
    const bool roomy = bottom - area.top() > 120 * t.type_scale();
    const double axis = roomy ? note + 2 : 0, room = bottom - area.top() - axis;
    const double strip = std::clamp(std::floor(room * 0.24), 10.0, 46 * t.type_scale());
    frame.memory = from_below(strip, 1);
    const std::int64_t layers = context_.recording ? context_.recording->facts().config.layers : 1;
    const auto sheet_count = static_cast<double>(std::clamp<std::int64_t>(layers - 1, 0, kMostSheets));
    const double sheets = roomy ? kSheet * sheet_count : 0;
    frame.sheets = from_below(sheets, 0);
    frame.position_axis = QRectF(left, area.top(), width, axis);
    frame.sequence = QRectF(left, area.top() + axis + 1, width, strip);
    frame.groups = QRectF(left, frame.sequence.bottom() + 1, width, marks() ? 5 : 0);
    frame.labels = QRectF(area.left(), area.top(), label - 8, area.height());
    return frame;
}

PlacementOptions PlacementMap::options(double device_ratio) const {
    PlacementOptions options;
    options.largest = (fitted_ ? 28 : kLargestSlot) * theme().type_scale();
    options.slot_width = fitted_ ? 0 : slot_width_;
    options.first_slot = first_slot_;
    options.device_ratio = device_ratio;
    return options;
}

void PlacementMap::place() {
    frame_ = frame_for(QRectF(rect()));
    keep_next_in_view();
    layout_.arrange(track_, seen(), frame_.sequence, frame_.memory, options(devicePixelRatioF()));
    const double hidden = static_cast<double>(track_.state().slots) - layout_.shown_slots();
    const int most = fitted_ || !can_draw() ? 0 : static_cast<int>(std::ceil(std::max(0.0, hidden)));
    across_->setVisible(most > 0);
    across_->setGeometry(static_cast<int>(frame_.memory.left()), static_cast<int>(frame_.slot_axis.bottom()) + 1,
                         static_cast<int>(frame_.memory.width()), 8);
    across_->setPageStep(std::max(1, static_cast<int>(layout_.shown_slots())));
    across_->setRange(0, most);
    across_->setValue(static_cast<int>(std::lround(first_slot_)));
}

// Where the next token goes stays in view until somebody scrolls.
void PlacementMap::keep_next_in_view() {
    if (fitted_ || !can_draw() || slot_width_ <= 0) return;
    const double shown = frame_.memory.width() / slot_width_, next = static_cast<double>(track_.state().next_slot);
    if (following_ && next >= 0 && (next < first_slot_ || next + 2 > first_slot_ + shown))
        first_slot_ = next - shown * 0.8;
    first_slot_ = std::clamp(first_slot_, 0.0, std::max(0.0, static_cast<double>(track_.state().slots) - shown));
}

void PlacementMap::present(const PanelContext& context, unsigned changes) {
    const bool replaced = (changes & NewRecording) != 0 || context.recording != context_.recording;
    context_ = context;
    if (replaced) {
        fitted_ = following_ = true;
        hovered_.reset();
    }
    tokens_.update(context_.recording.get());
    story_.update(context_.recording.get());
    view_ = viewed_step(context_.recording.get(), context_.step);
    track_.update(context_.recording.get(), context_.step);
    place();
    if ((changes & SelectionMoved) && !selection_->hovering()) describe();
    update();
}

// What a screen reader says of the pinned position.
void PlacementMap::describe() {
    const int position = tokens_.position_of(selection_->pinned().position);
    if (!can_draw() || position < 0)
        return setAccessibleDescription(
            tr("Arrow keys move the pinned position, up and down by a page, plus and minus zoom, 0 fits, Esc clears"));
    PlacementHit hit;
    hit.position = position;
    hit.slot = track_.slot_of(position).value_or(-1);
    const std::int64_t size = track_.state().page_tokens;
    if (size > 0 && hit.slot >= 0) hit.page = static_cast<int>(hit.slot / size);
    setAccessibleDescription(placement_facts(scene(), hit).join(QStringLiteral(", ")));
}

void PlacementMap::zoom_by(double factor) {
    if (!can_draw() || track_.state().slots == 0) return;
    const double fitting = frame_.memory.width() / static_cast<double>(track_.state().slots);
    const double before = layout_.slot_width();
    const double after = std::clamp(before * factor, fitting, std::max(fitting, kLargestSlot * theme().type_scale()));
    if (after <= fitting * 1.01) return fit();
    // What is pointed at, or where the next token goes, keeps its place.
    const bool pointed = underMouse() && frame_.memory.contains(pointer_);
    const double x = pointed ? pointer_.x() - frame_.memory.left() : frame_.memory.width() * 0.8;
    const double at = pointed ? (pointer_.x() - layout_.slot_x(0)) / before
                              : static_cast<double>(std::max<std::int64_t>(track_.state().next_slot, 0));
    fitted_ = false;
    slot_width_ = after;
    first_slot_ = at - x / after;
    following_ = !pointed;
    place();
    update();
}

void PlacementMap::fit() {
    fitted_ = following_ = true;
    first_slot_ = 0;
    place();
    update();
}

std::optional<PlacementHit> PlacementMap::marked() const {
    if (hovered_) return hovered_;
    const int row = selection_->effective().position;
    PlacementHit hit;
    hit.position = tokens_.position_of(row);
    if (hit.position < 0 || row >= view_.row_limit) return std::nullopt;
    hit.slot = track_.slot_of(hit.position).value_or(-1);
    return hit;
}

// Rows that belong to what is marked: those of the page, of the merged column, or the one.
std::vector<RowRun> PlacementMap::runs_of(const PlacementHit& hit) const {
    if (hit.slot < 0) return {};
    int first = hit.slot, end = hit.slot + 1;
    if (hit.page >= 0) {
        first = hit.page * static_cast<int>(track_.state().page_tokens);
        end = first + static_cast<int>(track_.state().page_tokens);
    }
    std::vector<RowRun> runs;
    for (int slot = first; slot < end; ++slot) {
        const auto position = track_.position_in(slot);
        if (!position) continue;
        if (!runs.empty() && runs.back().slot + runs.back().count == slot &&
            runs.back().position + runs.back().count == *position)
            ++runs.back().count;
        else
            runs.push_back({*position, slot, 1});
    }
    return runs;
}

// ---- pointer and keys

void PlacementMap::select(const PlacementHit& hit, bool pin) {
    SelectionPoint point = selection_->pinned();
    point.position = tokens_.row_of(hit.position);
    if (point.position < 0 || point.position >= view_.row_limit) {
        if (!pin) selection_->end_hover();
        return;
    }
    if (pin) selection_->pin(point);
    else selection_->hover(point);
}

void PlacementMap::mouseMoveEvent(QMouseEvent* event) {
    pointer_ = event->position();
    hovered_ = can_draw() ? layout_.hit(pointer_) : std::nullopt;
    setCursor(hovered_ && hovered_->position >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
    if (hovered_) select(*hovered_, false);
    else selection_->end_hover();
    update();
}

void PlacementMap::mousePressEvent(QMouseEvent* event) {
    const auto hit = can_draw() ? layout_.hit(event->position()) : std::nullopt;
    if (event->button() != Qt::LeftButton || !hit) return;
    select(*hit, true);
    describe();  // the pointer still hovers, but what is pinned is another position
}

void PlacementMap::leaveEvent(QEvent*) {
    hovered_.reset();
    selection_->end_hover();
    update();
}

void PlacementMap::resizeEvent(QResizeEvent*) { place(); }

void PlacementMap::wheelEvent(QWheelEvent* event) {
    if (event->modifiers() & Qt::ControlModifier) {
        pointer_ = event->position();
        zoom_by(wheel_zoom(*event));
        return event->accept();
    }
    const QPointF moved = wheel_distance(*event);
    const double x = moved.x(), y = moved.y();
    if (!across_->isVisible()) return event->ignore();
    across_->setValue(across_->value() - static_cast<int>(std::lround((x != 0 ? x : y) / layout_.slot_width())));
    event->accept();
}

void PlacementMap::move_pin(int positions) {
    if (!can_draw() || seen() == 0) return;
    const int from = tokens_.position_of(selection_->pinned().position);
    PlacementHit hit;
    hit.position = from < 0 ? seen() - 1 : std::clamp(from + positions, 0, seen() - 1);
    select(hit, true);
    const auto slot = track_.slot_of(hit.position);
    if (fitted_ || !slot) return;
    const double shown = layout_.shown_slots();
    first_slot_ = std::clamp(first_slot_, *slot + 1 - shown, static_cast<double>(*slot));
    following_ = false;
    place();
    update();
}

void PlacementMap::keyPressEvent(QKeyEvent* event) {
    const auto page = static_cast<int>(std::max<std::int64_t>(track_.state().page_tokens, 0));
    switch (event->key()) {
        case Qt::Key_Left: return move_pin(-1);
        case Qt::Key_Right: return move_pin(1);
        case Qt::Key_Up: return move_pin(page > 0 ? -page : -16);
        case Qt::Key_Down: return move_pin(page > 0 ? page : 16);
        case Qt::Key_Plus:
        case Qt::Key_Equal: return zoom_by(kZoomStep);
        case Qt::Key_Minus: return zoom_by(1 / kZoomStep);
        case Qt::Key_0: return fit();
        case Qt::Key_Escape:
            selection_->clear();
            Q_EMIT cleared();
            return;
        default: QWidget::keyPressEvent(event);
    }
}

QString PlacementMap::term_at(const QPoint& point) const {
    if (frame_.sequence.contains(point) || frame_.position_axis.contains(point)) return QStringLiteral("position");
    if (frame_.sheets.contains(point)) return QStringLiteral("slab");
    const bool paged = track_.state().page_tokens > 0;
    if (frame_.memory.contains(point) || frame_.slot_axis.contains(point))
        return paged ? QStringLiteral("page") : QStringLiteral("slot");
    if (frame_.pointer.contains(point)) return QStringLiteral("write-pointer");
    if (frame_.sentence.contains(point)) return paged ? QStringLiteral("waste") : QStringLiteral("reserved");
    if (frame_.legend.contains(point)) return paged ? QStringLiteral("shared-page") : QStringLiteral("evicted");
    return {};
}

bool PlacementMap::event(QEvent* event) {
    if (keeps_arrow_keys(event)) return true;
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        show_term(*help, this, hovered_ ? QString() : term_at(help->pos()));
        return true;
    }
    return QWidget::event(event);
}

}  // namespace decodescope
