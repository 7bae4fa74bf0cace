// Package render turns the templates of an operator package into objects.
//
//	var run render.Run
//	text, err := run.Template(ctx, name, source, render.Values{...})
//	objects, err := render.Objects(text)
//	err = render.Label(objects, meta, namespaced)
//
// Templates are Go templates with toYaml and the functions of sprig. As in KUDO, a
// template cannot call env, expandenv, base, dir, clean, ext and isAbs. It cannot call
// getHostByName either, because that uses the network.
//
// A package may come from an untrusted source, so a template has a budget, and so has a Run: all
// templates of one plan. Every iteration of a loop, every function call and every byte handled
// costs units of work. A slow function, such as genPrivateKey, costs what it takes. A template that
// exceeds a budget fails, always with the same message. Cancelling the context ends it before
// its next function. All functions are safe for concurrent use; a Run is not.
package render
