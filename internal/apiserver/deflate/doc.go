// Package deflate compresses texts one by one, and joins the compressed texts to one gzip stream without compressing them again.
//
//	compressors := deflate.NewPool(gzip.BestSpeed)
//	piece, err := compressors.Compress(text) // once for each text
//	stream := deflate.Join(pieces)           // for each answer
//
// A piece is a compressed text. It consists of deflate blocks (RFC 1951) that end at a byte, refer to no text before them, and
// do not end the stream. Therefore the pieces of a stream can be in any order, and one piece can be in many streams. The stream is one
// gzip member (RFC 1952), because some clients read only the first member. Its checksum is computed from those of the pieces.
//
// The server keeps pieces for two kinds of answers: the lists of custom resources, which have one piece for each object, and the
// OpenAPI v2 document, which has one for each model and path. A stream of pieces is larger than one that is compressed as a whole,
// because a piece cannot refer to the text of another one.
//
// A Piece does not change, and a Pool is safe for concurrent use. A Compressor and a Writer are not.
package deflate
