//! Sealing a block: its header, its checksum, and its payload compressed if that is asked for and makes it smaller.

use super::format::{BLOCK_HEADER_BYTES, BlockHeader, Place};

/// Seals blocks, one after the other.
pub(super) struct Sealer {
    compress: bool,
    compressed: Vec<u8>,
}

impl Sealer {
    /// Compresses payloads, or does not.
    pub fn new(compress: bool) -> Sealer {
        Sealer { compress, compressed: Vec::new() }
    }

    /// Seals a block whose payload follows room for the header; `header` says all but sizes. Answers it as it is to stand there.
    pub fn seal<'b>(&'b mut self, place: Place, mut header: BlockHeader, block: &'b mut [u8]) -> &'b [u8] {
        let payload = &block[BLOCK_HEADER_BYTES..];
        header.raw_bytes = u32::try_from(payload.len()).expect("a payload has a bound");
        (header.compressed, header.stored_bytes) = (false, header.raw_bytes);
        if self.compress {
            let room = BLOCK_HEADER_BYTES + lz4_flex::block::get_maximum_output_size(payload.len());
            self.compressed.resize(room, 0);
            let into = &mut self.compressed[BLOCK_HEADER_BYTES..];
            let stored = lz4_flex::block::compress_into(payload, into).expect("there is room");
            if stored < payload.len() {
                (header.compressed, header.stored_bytes) = (true, stored as u32);
                let sealed = &mut self.compressed[..BLOCK_HEADER_BYTES + stored];
                header.seal(place, sealed);
                return sealed;
            }
        }
        header.seal(place, block);
        block
    }
}
