// Package text is how custom resources are written: as JSON, in storage and to
// clients.
//
//	var format text.JSON
//	obj, err := format.Decode(data)
//	err = format.Encode(w, obj)
//
// What is decoded holds nothing but nil, bool, int64, float64, string, []any and
// map[string]any, and shares no memory with the bytes. What is encoded is, byte
// for byte, what encoding/json writes, in a fraction of its time: objects are
// half of what a server of custom resources reads and writes. A JSON is safe for
// concurrent use.
package text
