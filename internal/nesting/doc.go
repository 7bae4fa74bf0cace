// Package nesting limits how deep values are nested. Many algorithms that walk an object take
// time and memory that grow with the square of its depth, so a small body with thousands of
// levels could occupy a server.
//
//	err := nesting.JSON(text)          // also YAML and Patch, for other encodings
//	err := nesting.Object(values)      // a decoded object
//	var s nesting.Scanner              // JSON text that arrives in parts
//
// A level is an object or a list. The object {"a":[1]} has two levels. The field
// metadata.managedFields may have five more levels than [Limit]: it has one level for each
// level of the object that it describes, inside lists and objects of its own.
//
// The functions return nil or an [Error]. They return nil for text that is malformed; the
// decoder reports that. A scan takes about 2.5 µs for each KB of JSON and allocates nothing.
package nesting
