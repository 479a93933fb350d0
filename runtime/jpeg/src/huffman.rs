//! Huffman codes and the bits of a scan.

/// A Huffman code. Symbols of codes up to `FAST` bits are in a table; longer codes are compared with `ends`.
#[derive(Clone, Debug)]
pub struct Code {
    /// Length and symbol of the code that begins with each sequence of `FAST` bits; length 0 if the code is longer.
    fast: Vec<(u8, u8)>,
    /// For each length, the first 16-bit value beyond its codes.
    ends: [u32; 17],
    /// For each length, the number to add to a code to get the index of its symbol.
    places: [i32; 17],
    symbols: Vec<u8>,
}

const FAST: u32 = 9;

impl Code {
    /// Returns the code with `counts[i]` symbols of length `i + 1`, or `None` if the symbols do not match the counts.
    pub fn new(counts: &[u8; 16], symbols: &[u8]) -> Option<Code> {
        let mut code =
            Code { fast: vec![(0, 0); 1 << FAST], ends: [0; 17], places: [0; 17], symbols: symbols.to_vec() };
        let (mut next, mut place) = (0_u32, 0_usize);
        for (length, &count) in (1_u32..).zip(counts) {
            code.places[length as usize] = place as i32 - next as i32;
            for &symbol in symbols.get(place..place + usize::from(count))? {
                if next >= 1 << length {
                    return None;
                }
                if length <= FAST {
                    let first = (next << (FAST - length)) as usize;
                    let entries = code.fast.iter_mut().skip(first);
                    let same = entries.take(1 << (FAST - length));
                    same.for_each(|entry| *entry = (length as u8, symbol));
                }
                next += 1;
            }
            place += usize::from(count);
            code.ends[length as usize] = next << (16 - length);
            next <<= 1;
        }
        Some(code)
    }
}

/// Reader of the bits of a restart interval.
#[derive(Debug)]
pub struct Bits<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Next bits, starting at the highest.
    buffer: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    pub fn new(bytes: &'a [u8], position: usize) -> Self {
        Bits { bytes, position, buffer: 0, count: 0 }
    }

    /// Reads a symbol.
    #[inline]
    pub fn symbol(&mut self, code: &Code) -> Option<u8> {
        if self.count < 16 {
            self.fill();
        }
        let (length, symbol) = code.fast[(self.buffer >> (64 - FAST)) as usize];
        if length > 0 {
            self.take(u32::from(length))?;
            return Some(symbol);
        }
        let window = (self.buffer >> 48) as u32;
        let length = (FAST + 1..=16).find(|&length| window < code.ends[length as usize])?;
        self.take(length)?;
        let bits = (window >> (16 - length)) as i32;
        let place = usize::try_from(bits + code.places[length as usize]).ok()?;
        code.symbols.get(place).copied()
    }

    /// Reads `count` bits, at most 16, as an unsigned number.
    #[inline]
    pub fn number(&mut self, count: u32) -> Option<i32> {
        if count == 0 {
            return Some(0);
        }
        if self.count < count {
            self.fill();
        }
        let number = (self.buffer >> (64 - count)) as i32;
        self.take(count)?;
        Some(number)
    }

    /// Reads `count` bits as a signed value: values whose first bit is 0 are negative.
    #[inline]
    pub fn value(&mut self, count: u32) -> Option<i32> {
        let number = self.number(count)?;
        let negative = count > 0 && number >> (count - 1) == 0;
        Some(if negative { number - (1 << count) + 1 } else { number })
    }

    /// Returns the offset of the marker that ends these bits, skipping unread bytes.
    pub fn marker(&self) -> usize {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let marker = |pair: &[u8]| pair[0] == 0xFF && pair[1] != 0 && pair[1] != 0xFF;
        let skipped = rest.windows(2).position(marker);
        self.position + skipped.unwrap_or(rest.len())
    }

    #[inline]
    fn take(&mut self, count: u32) -> Option<()> {
        self.count = self.count.checked_sub(count)?;
        self.buffer <<= count;
        Some(())
    }

    /// Fills the buffer with bytes up to the next marker. After it, and after the end, the buffer contains zeros, which
    /// `take` refuses.
    fn fill(&mut self) {
        while self.count <= 56 {
            let Some(&byte) = self.bytes.get(self.position) else {
                return;
            };
            let mut length = 1;
            if byte == 0xFF {
                let rest = &self.bytes[self.position..];
                let filling = rest.iter().take_while(|&&byte| byte == 0xFF).count();
                match rest.get(filling) {
                    Some(0) => length = filling + 1,
                    _ => return,
                }
            }
            self.position += length;
            self.buffer |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_codes_are_read_up_to_the_marker() {
        let mut counts = [0; 16];
        (counts[0], counts[1], counts[11]) = (1, 1, 2);
        let code = Code::new(&counts, &[7, 8, 9, 10]).unwrap();
        // The bits 0, 10, 110000000001, then 1 as padding and a marker.
        let bytes = [0b0101_1000, 0b0000_0011, 0xFF, 0xD9];
        let mut bits = Bits::new(&bytes, 0);
        let symbols: Vec<_> = (0..4).map(|_| bits.symbol(&code)).collect();
        assert_eq!(symbols, [Some(7), Some(8), Some(10), None]);
        assert_eq!(bits.marker(), 2);
    }

    #[test]
    fn codes_with_too_many_symbols_are_refused() {
        let mut counts = [0; 16];
        counts[0] = 3;
        assert!(Code::new(&counts, &[1, 2, 3]).is_none());
        counts[0] = 2;
        assert!(Code::new(&counts, &[1]).is_none());
    }

    #[test]
    fn stuffed_bytes_are_data_and_small_numbers_are_negative() {
        let mut bits = Bits::new(&[0xFF, 0x00, 0x2F], 0);
        assert_eq!(bits.number(8), Some(0xFF));
        assert_eq!(bits.value(3), Some(-6));
        assert_eq!(bits.value(5), Some(-16));
        assert_eq!(bits.value(1), None);
    }
}
