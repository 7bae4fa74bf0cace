// Package limit holds pods and claims to the LimitRanges of their namespace: it
// fills in the requests and limits that containers leave out, and refuses what
// is below a minimum, above a maximum or out of proportion.
//
//	plugin := limit.NewAdmission(limitRanges, client)
//
// Promises: Kubernetes' defaults, annotation and words, with all violations at
// once, in a fixed order. A namespace without LimitRanges costs one lookup in an
// index.
package limit
