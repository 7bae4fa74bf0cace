// Package stored decodes the definitions that are stored.
//
//	decoder := stored.New(codecs.UniversalDeserializer())
//	obj, gvk, err := decoder.Decode(text, nil, &definition.CustomResourceDefinition{})
//
// The package is part of the wing of speed. Most of the text of a definition is its schemas, which [definition.CustomResourceDefinition] keeps as
// text. The library reads the whole text three times: to find its kind, to check it, and to decode it. A start decodes all definitions, and
// the server is not ready before that. The quick form reads the text once: it checks the text, cuts the schemas out, lets the library decode
// the rest, and puts the schemas back.
//
// What must hold: the text is valid JSON, and each schema is in the place where the library looks for it. A text that the quick form does not
// understand goes to the library as a whole, which has the error messages: an invalid one, one with a key twice on the way to a schema, and one
// of another API version. FuzzDecode compares both forms, and fails if too few texts take the quick way. The build tag plain leaves the
// quick form out.
package stored
