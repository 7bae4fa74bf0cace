// Package envelope decodes and encodes the stored form of built-in kinds with fewer copies.
//
//	config.Codec = envelope.New(codec, scheme, kind) // codec is that of the library
//
// The envelope of a stored object is what surrounds it in etcd: the prefix k8s\0, and a protobuf message with the kind and the bytes of the object.
//
// The package is part of the wing of speed. The library copies the bytes of the object out of the envelope before it decodes them, and it encodes an object
// into a buffer of its own before it copies the result. Every write encodes the new object (an update the old one, too), decodes what it has
// stored, and the watch cache decodes it again. For a ConfigMap of 3 KB the library allocates 4 KB each time, which this package does not.
//
// What must hold: the bytes of the envelope are those that the library writes for the kind. If they differ in anything, for example because the object was
// stored in another version, or if the object cannot be decoded, the library decodes it and has the error. Decoded objects must not
// keep parts of the bytes: the generated decoders copy texts and bytes. TestCodec and FuzzDecode compare the codec with that of the library.
// TestCodec fails if too few objects take the quick way.
package envelope
