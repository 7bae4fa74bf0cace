// Package limit is the admission plugin that enforces LimitRanges on pods and
// PersistentVolumeClaims. It sets default requests and limits of containers, and
// rejects requests and limits that are below a minimum, above a maximum, or exceed
// the allowed ratio of limit to request.
//
//	plugin := limit.NewAdmission(limitRanges, client)
//
// Defaults, the annotation and error messages are the same as in Kubernetes. An error
// lists all violations, in a fixed order. In a namespace without LimitRanges, the
// plugin costs one index lookup.
package limit
