// Package render turns the templates of an operator package into objects.
//
//	text, err := render.Template(ctx, name, source, render.Values{...})
//	objects, err := render.Objects(text)
//	render.Label(objects, meta)
//
// Templates are Go templates with sprig's functions and toYaml, as KUDO has them,
// but for those that look at the machine. A package may come from anywhere, so a
// template has a budget: every turn of a loop, every call of a function and every
// byte it handles is work, and when the budget is used up the template fails, with
// the same message each time. A context ends it sooner. Nothing is shared between
// calls; all functions are safe for concurrent use.
package render
