//! Characters that a reader cannot see, or that change what a reader sees.
//!
//! Skills, names and messages come from servers and are shown on terminals, in approval prompts and
//! to models. Every place that escapes, strips, reports or counts such characters asks this module,
//! so that a character added here is handled everywhere.

/// The reason why a character is not ordinary text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CharClass {
    /// Begins a sequence that a terminal obeys: ESC and the C1 controls CSI, OSC, DCS and their
    /// like.
    TerminalEscape,
    /// Another control character. Line feed, carriage return and tab are of this class too; callers
    /// that allow them check for them first.
    Control,
    /// Changes the direction of the text around it.
    Bidirectional,
    /// U+2028 or U+2029, which some readers take for the end of a line.
    LineSeparator,
    /// U+200C or U+200D, which have no width, but which Persian, Indic scripts and emoji need.
    Joiner,
    /// Has no width or no shape of its own.
    Invisible,
    /// A tag character: an invisible copy of an ASCII character, which models can read.
    Tag,
    /// Chooses the look of the character before it; sequences of selectors can carry hidden text.
    VariationSelector,
    /// A code point that Unicode promises never to assign.
    Noncharacter,
}

impl CharClass {
    /// Every class.
    pub const ALL: [Self; 9] = [
        Self::TerminalEscape,
        Self::Control,
        Self::Bidirectional,
        Self::LineSeparator,
        Self::Joiner,
        Self::Invisible,
        Self::Tag,
        Self::VariationSelector,
        Self::Noncharacter,
    ];

    /// Classifies a character by itself; ordinary ones have no class.
    pub fn of(c: char) -> Option<Self> {
        let class = match c {
            ' '..='~' => return None,
            '\u{1b}' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}' => Self::TerminalEscape,
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Self::Control,
            '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => Self::Bidirectional,
            '\u{2028}' | '\u{2029}' => Self::LineSeparator,
            '\u{200c}' | '\u{200d}' => Self::Joiner,
            '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' => Self::Invisible,
            '\u{e0000}'..='\u{e007f}' => Self::Tag,
            '\u{fe00}'..='\u{fe0f}' | '\u{e0080}'..='\u{e0fff}' => Self::VariationSelector,
            '\u{fdd0}'..='\u{fdef}' => Self::Noncharacter,
            c if u32::from(c) & 0xfffe == 0xfffe => Self::Noncharacter,
            _ => return None,
        };
        Some(class)
    }

    /// Classifies a character that follows `before`.
    ///
    /// U+FE0E and U+FE0F are ordinary after a visible character, where they choose between its text
    /// and its emoji form.
    pub fn after(before: Option<char>, c: char) -> Option<Self> {
        let takes_selector = |c: char| !c.is_whitespace() && Self::of(c).is_none();
        match c {
            '\u{fe0e}' | '\u{fe0f}' if before.is_some_and(takes_selector) => None,
            c => Self::of(c),
        }
    }
}

/// The classes that one caller cares about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CharClasses(u16);

impl CharClasses {
    /// Every class.
    pub const ALL: Self = Self((1 << CharClass::ALL.len()) - 1);

    /// What must not reach a terminal, a log or a message unescaped. Variation selectors may,
    /// because ordinary emoji have them.
    pub const UNPRINTABLE: Self = Self::ALL.without(CharClass::VariationSelector);

    /// Returns the same set of classes without `class`.
    #[must_use]
    pub const fn without(self, class: CharClass) -> Self {
        Self(self.0 & !(1 << class as u16))
    }

    /// Tells whether a character is of one of these classes.
    pub fn contains(self, c: char) -> bool {
        CharClass::of(c).is_some_and(|class| self.0 & (1 << class as u16) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every code point that has a class, in order.
    const TABLE: &[(u32, u32, CharClass)] = &[
        (0x0000, 0x001a, CharClass::Control),
        (0x001b, 0x001b, CharClass::TerminalEscape),
        (0x001c, 0x001f, CharClass::Control),
        (0x007f, 0x008f, CharClass::Control),
        (0x0090, 0x0090, CharClass::TerminalEscape),
        (0x0091, 0x0097, CharClass::Control),
        (0x0098, 0x0098, CharClass::TerminalEscape),
        (0x0099, 0x009a, CharClass::Control),
        (0x009b, 0x009b, CharClass::TerminalEscape),
        (0x009c, 0x009c, CharClass::Control),
        (0x009d, 0x009f, CharClass::TerminalEscape),
        (0x00ad, 0x00ad, CharClass::Invisible),
        (0x034f, 0x034f, CharClass::Invisible),
        (0x061c, 0x061c, CharClass::Bidirectional),
        (0x115f, 0x1160, CharClass::Invisible),
        (0x17b4, 0x17b5, CharClass::Invisible),
        (0x180b, 0x180f, CharClass::Invisible),
        (0x200b, 0x200b, CharClass::Invisible),
        (0x200c, 0x200d, CharClass::Joiner),
        (0x200e, 0x200f, CharClass::Bidirectional),
        (0x2028, 0x2029, CharClass::LineSeparator),
        (0x202a, 0x202e, CharClass::Bidirectional),
        (0x2060, 0x2065, CharClass::Invisible),
        (0x2066, 0x2069, CharClass::Bidirectional),
        (0x206a, 0x206f, CharClass::Invisible),
        (0x2800, 0x2800, CharClass::Invisible),
        (0x3164, 0x3164, CharClass::Invisible),
        (0xfdd0, 0xfdef, CharClass::Noncharacter),
        (0xfe00, 0xfe0f, CharClass::VariationSelector),
        (0xfeff, 0xfeff, CharClass::Invisible),
        (0xffa0, 0xffa0, CharClass::Invisible),
        (0xfff0, 0xfffb, CharClass::Invisible),
        (0xfffe, 0xffff, CharClass::Noncharacter),
        (0x1_bca0, 0x1_bca3, CharClass::Invisible),
        (0x1_d173, 0x1_d17a, CharClass::Invisible),
        (0x1_fffe, 0x1_ffff, CharClass::Noncharacter),
        (0x2_fffe, 0x2_ffff, CharClass::Noncharacter),
        (0x3_fffe, 0x3_ffff, CharClass::Noncharacter),
        (0x4_fffe, 0x4_ffff, CharClass::Noncharacter),
        (0x5_fffe, 0x5_ffff, CharClass::Noncharacter),
        (0x6_fffe, 0x6_ffff, CharClass::Noncharacter),
        (0x7_fffe, 0x7_ffff, CharClass::Noncharacter),
        (0x8_fffe, 0x8_ffff, CharClass::Noncharacter),
        (0x9_fffe, 0x9_ffff, CharClass::Noncharacter),
        (0xa_fffe, 0xa_ffff, CharClass::Noncharacter),
        (0xb_fffe, 0xb_ffff, CharClass::Noncharacter),
        (0xc_fffe, 0xc_ffff, CharClass::Noncharacter),
        (0xd_fffe, 0xd_ffff, CharClass::Noncharacter),
        (0xe_0000, 0xe_007f, CharClass::Tag),
        (0xe_0080, 0xe_0fff, CharClass::VariationSelector),
        (0xe_fffe, 0xe_ffff, CharClass::Noncharacter),
        (0xf_fffe, 0xf_ffff, CharClass::Noncharacter),
        (0x10_fffe, 0x10_ffff, CharClass::Noncharacter),
    ];

    #[test]
    fn each_code_point_has_the_class_of_the_table_or_none_v_54() {
        let mut rows = TABLE.iter().copied().peekable();
        for c in '\0'..=char::MAX {
            let number = u32::from(c);
            while rows.next_if(|(_, last, _)| *last < number).is_some() {}
            let row = rows.peek().filter(|(first, ..)| *first <= number);
            assert_eq!(CharClass::of(c), row.map(|(.., class)| *class), "U+{number:04X}");
        }
    }

    /// Unicode's own list of what is shown as nothing (`Default_Ignorable_Code_Point`).
    #[test]
    fn what_unicode_lets_a_renderer_ignore_has_a_class_v_54() {
        const IGNORABLE: &[(char, char)] = &[
            ('\u{ad}', '\u{ad}'),
            ('\u{34f}', '\u{34f}'),
            ('\u{61c}', '\u{61c}'),
            ('\u{115f}', '\u{1160}'),
            ('\u{17b4}', '\u{17b5}'),
            ('\u{180b}', '\u{180f}'),
            ('\u{200b}', '\u{200f}'),
            ('\u{202a}', '\u{202e}'),
            ('\u{2060}', '\u{206f}'),
            ('\u{3164}', '\u{3164}'),
            ('\u{fe00}', '\u{fe0f}'),
            ('\u{feff}', '\u{feff}'),
            ('\u{ffa0}', '\u{ffa0}'),
            ('\u{fff0}', '\u{fff8}'),
            ('\u{1bca0}', '\u{1bca3}'),
            ('\u{1d173}', '\u{1d17a}'),
            ('\u{e0000}', '\u{e0fff}'),
        ];
        for (first, last) in IGNORABLE {
            for c in *first..=*last {
                assert!(CharClasses::ALL.contains(c), "{}", c.escape_unicode());
            }
        }
        assert!(
            ('\0'..=char::MAX).filter(|c| c.is_control()).all(|c| CharClasses::ALL.contains(c))
        );
    }

    #[test]
    fn a_set_contains_its_classes_and_no_others() {
        let samples = [
            '\u{1b}',
            '\n',
            '\u{202e}',
            '\u{2028}',
            '\u{200d}',
            '\u{ad}',
            '\u{e0041}',
            '\u{fe0f}',
            '\u{ffff}',
        ];
        for (class, sample) in CharClass::ALL.into_iter().zip(samples) {
            assert_eq!(CharClass::of(sample), Some(class));
            assert!(CharClasses::ALL.contains(sample));
            let others = CharClasses::ALL.without(class);
            for other in samples {
                assert_eq!(others.contains(other), other != sample, "{class:?} {other:?}");
            }
        }
        assert!(!CharClasses::ALL.contains('a') && !CharClasses::ALL.contains('é'));
    }

    #[test]
    fn a_selector_is_ordinary_only_behind_what_it_dresses_hst_112() {
        let class = |text: &str| {
            let mut chars = text.chars().rev();
            let c = chars.next().unwrap();
            CharClass::after(chars.next(), c)
        };
        for ordinary in ["⚠\u{fe0f}", "1\u{fe0e}", "⚠", " x"] {
            assert_eq!(class(ordinary), None, "{ordinary:?}");
        }
        for stray in ["\u{fe0f}", " \u{fe0f}", "\u{200b}\u{fe0f}", "x\u{fe0f}\u{fe0f}", "x\u{fe00}"]
        {
            assert_eq!(class(stray), Some(CharClass::VariationSelector), "{stray:?}");
        }
    }
}
