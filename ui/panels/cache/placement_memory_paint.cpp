// The lower half of the cache map: pages and slots in memory order, the layers behind them.
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/panels/cache/placement_map.h"
#include "ui/widgets/painting.h"

namespace decodescope {

void PlacementMap::paint_memory(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setClipRect(frame.memory.adjusted(-1, -1, 1, 1), Qt::IntersectClip);
    for (const MemoryCell& cell : layout.memory()) paint_cell(painter, layout, cell);
    painter.restore();
}

void PlacementMap::paint_cell(QPainter& painter, const PlacementLayout& layout, const MemoryCell& cell) const {
    const Theme& t = theme();
    const QRectF rect = layout.page_rect(cell);
    const QColor reserved = t.color(Role::Reserved);
    painter.fillRect(rect, reserved);
    std::vector<QColor> colors;
    for (const std::int32_t owner : cell.owners) colors.push_back(t.sequence(owner));
    QRectF filled = rect;
    // Slots of a last page that hold nothing yet are left empty: its waste.
    const bool own = cell.use == SlotUse::Own || cell.use == SlotUse::Shared;
    if (own && !cell.merged() && cell.end - cell.first > 1)
        filled.setWidth(std::min(rect.width(), std::max(1.0, cell.rows * layout.slot_width())));
    if (cell.use == SlotUse::Other)
        for (QColor& color : colors) color = mixed(color, t.color(Role::Card), 0.45f);
    if (cell.use == SlotUse::Findable) painter.fillRect(rect, QColor::fromRgb(t.shade(Role::Prompt, 0.35f)));
    if (!colors.empty()) paint_stripes(painter, filled, colors, cell.merged() ? 4 : 7);
    if (!cell.merged()) paint_slots(painter, layout, cell, rect, readable_on(colors.empty() ? reserved : colors[0]));
    const bool outlined = cell.page >= 0 && rect.width() >= 5 && (own || cell.use == SlotUse::Free);
    if (outlined) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(own ? colors[0] : t.color(Role::Prompt), 1, own ? Qt::SolidLine : Qt::DotLine));
        painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5));
    }
    if (cell.reclaimed && !cell.merged() && rect.width() >= 5) {  // a folded corner
        const double fold = std::min(7.0, rect.width() / 2);
        painter.setPen(Qt::NoPen);
        painter.setBrush(t.color(Role::Ring));
        const QPointF tip = rect.topRight(), corner[] = {tip, tip + QPointF(0, fold), tip - QPointF(fold, 0)};
        painter.drawConvexPolygon(corner, 3);
    }
}

void PlacementMap::paint_slots(QPainter& painter, const PlacementLayout& layout, const MemoryCell& cell,
                               const QRectF& rect, const QColor& ink) const {
    const Theme& t = theme();
    const double width = layout.slot_width();
    const bool paged = cell.page >= 0 && cell.end - cell.first > 1;
    if (paged && layout.slots_apart()) {
        painter.setPen(QPen(t.color(Role::Card), 1));
        for (int slot = cell.first + 1; slot < cell.end; ++slot) {
            const double x = std::round(layout.slot_x(slot)) - 0.5;
            painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom()));
        }
    }
    const QString widest = QString::number(std::max(seen() - 1, 0));
    const bool numbers = width >= text_width(t.note(), widest) + 4 && rect.height() >= text_height(t.note());
    for (int slot = cell.first; numbers && slot < cell.end; ++slot) {
        const auto position = track_.position_in(slot);
        if (!position) continue;
        const QRectF place(layout.slot_x(slot), rect.top(), width - 1, rect.height());
        if (cell.use == SlotUse::Shared) {
            QRectF plate(0, 0, text_width(t.note(), widest) + 2, text_height(t.note()));
            plate.moveCenter(place.center());
            painter.fillRect(plate, faded(t.color(Role::Card), 0.85f));
        }
        paint_text(painter, place, Qt::AlignCenter, QString::number(*position), t.note(),
                   cell.use == SlotUse::Shared ? t.color(Role::Ink) : ink);
    }
    if (cell.owners.size() < 2 || numbers || rect.width() < 16 || rect.height() < text_height(t.note())) return;
    const QString count = QStringLiteral("×%1").arg(cell.owners.size());
    QRectF plate(0, 0, text_width(t.note(), count) + 3, text_height(t.note()));
    plate.moveCenter(rect.center());
    painter.fillRect(plate, faded(t.color(Role::Card), 0.9f));
    paint_text(painter, plate, Qt::AlignCenter, count, t.note(), t.color(Role::Ink));
}

// Behind memory stand the other layers, the same slots in each: apart, or one block where they are one slab.
void PlacementMap::paint_sheets(QPainter& painter, const PlacementLayout& layout, const Frame& frame) const {
    if (frame.sheets.height() < 1) return;
    const Theme& t = theme();
    const double right = std::min(frame.memory.right(), layout.slot_x(static_cast<double>(track_.state().slots)));
    const int sheets = static_cast<int>(std::lround(frame.sheets.height() / 3));
    const bool slab = track_.state().one_slab;
    for (int i = sheets; i >= 1; --i) {
        const QRectF sheet(frame.memory.left() + 3 * i, frame.memory.top() - 3 * i, right - frame.memory.left() - 6 * i,
                           slab ? 3 : 2);
        const float pale = 0.25f + 0.1f * static_cast<float>(i);
        if (sheet.width() > 4) painter.fillRect(sheet, mixed(t.color(Role::Prompt), t.color(Role::Card), pale));
    }
}

}  // namespace decodescope
