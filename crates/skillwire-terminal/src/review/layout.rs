//! Where things are on a screen of any size.

use ratatui::layout::Rect;

/// The narrowest and lowest screen that the view is drawn on.
pub(super) const LEAST: (u16, u16) = (36, 8);

/// Below this width the list and the skill are shown one at a time.
const TWO_PANES: u16 = 72;

/// The areas of a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Areas {
    pub(super) title: Rect,
    /// The list of skills; `None` while a narrow screen shows the skill.
    pub(super) list: Option<Rect>,
    /// The skill; `None` while a narrow screen shows the list.
    pub(super) detail: Option<Rect>,
    /// Questions and notices.
    pub(super) notice: Rect,
    pub(super) keys: Rect,
}

impl Areas {
    /// Divides a screen. `notice` is the number of lines that a question or notice wants.
    pub(super) fn new((width, height): (u16, u16), shows_detail: bool, notice: u16) -> Self {
        // A question may push the panes away, but not the keys and not all of the skill.
        let notice = notice.min(height.saturating_sub(5));
        let body = height.saturating_sub(2 + notice);
        let row = |y: u16, height: u16| Rect::new(0, y, width, height);
        let panes = row(1, body);
        let (list, detail) = if width >= TWO_PANES {
            let left = (width / 3).clamp(26, 44);
            let detail = Rect::new(left + 1, 1, width - left - 1, body);
            (Some(Rect::new(0, 1, left, body)), Some(detail))
        } else if shows_detail {
            (None, Some(panes))
        } else {
            (Some(panes), None)
        };
        Self {
            title: row(0, 1),
            list,
            detail,
            notice: row(1 + body, notice),
            keys: row(height.saturating_sub(1), 1),
        }
    }
}
