// Package render turns the templates of an operator package into objects.
//
//	text, err := render.Template(ctx, name, source, render.Values{...})
//	objects, err := render.Objects(text)
//	err = render.Label(objects, meta, namespaced)
//
// Templates are Go templates with the functions of sprig and toYaml, as in KUDO, without
// the functions that read the environment or file names of the machine.
//
// A package may come from an untrusted source, so a template has a budget. Every
// iteration of a loop, every function call and every byte handled costs units of work.
// A template that exceeds the budget fails, always with the same message. Cancelling the
// context ends it sooner. All functions are safe for concurrent use.
package render
