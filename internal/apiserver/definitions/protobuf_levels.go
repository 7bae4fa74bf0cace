package definitions

import (
	"encoding/binary"

	"holdfast.dev/holdfast/internal/nesting"
)

// maxMessageLevels is the number of messages inside each other that a definition in protobuf
// may have. One level of JSON needs at most two messages.
const maxMessageLevels = 2*nesting.Limit + 10

// The wire types of protobuf.
const (
	wireVarint = 0
	wireFixed8 = 1
	wireBytes  = 2
	wireFixed4 = 5
)

// nestedDeeper reports whether a message holds more than limit levels of messages. The
// encoding does not distinguish a message from a string, so strings count as messages as far
// as they have the form of one. Text of this form does not occur by accident in more than a few
// levels. Malformed parts count too, because the decoder descends before it finds them. The
// function looks at no byte twice.
func nestedDeeper(data []byte, limit int) bool {
	if limit < 0 {
		return len(data) > 0
	}
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return false
		}
		data = data[n:]
		size := uint64(0)
		switch tag & 7 {
		case wireVarint:
			if _, n = binary.Uvarint(data); n <= 0 {
				return false
			}
			size = uint64(n)
		case wireFixed8:
			size = 8
		case wireFixed4:
			size = 4
		case wireBytes:
			length, n := binary.Uvarint(data)
			if n <= 0 || length > uint64(len(data)-n) {
				return false
			}
			data = data[n:]
			if nestedDeeper(data[:length], limit-1) {
				return true
			}
			size = length
		}
		if size > uint64(len(data)) {
			return false
		}
		data = data[size:]
	}
	return false
}
