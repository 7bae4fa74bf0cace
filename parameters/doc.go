// Package parameters decides what becomes of an operator's parameters when it is
// installed, updated, upgraded or rolled back: the values to store and the plan
// to run, or every reason to refuse, all at once.
//
//	decision := parameters.Upgrade(from, to, parameters.Request{Stored: stored, Wanted: wanted, Consented: names})
//	if err := decision.Err(); err != nil { ... }
//
// A Definition describes a parameter, a Version is what one operator version
// defines. Stored are the values an instance has, Wanted all the values it shall
// have; a parameter without a value has its default, and the two together are its
// effective value: what a template sees.
//
// Values are strings, as KUDO stores them. Two values are the same when no
// template can tell them apart: templates see strings, integers, numbers and
// booleans as the text that was given ("3" and "03" differ), arrays and maps as
// what their YAML says ("[a, b]" and "- a\n- b" are the same).
//
// A value that an update leaves alone is not judged again: an instance that was
// stored before there were rules can still be changed. Nothing that is given is
// changed, everything returned is new, and all functions are safe for concurrent
// use.
package parameters
