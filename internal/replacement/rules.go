package replacement

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The finalizers of a claim and of a volume while they are in use. A replacement needs no controller to remove them.
const (
	claimProtection  = "kubernetes.io/pvc-protection"
	volumeProtection = "kubernetes.io/pv-protection"
)

// never are the resources whose objects are never replaced, with the reason.
var never = map[schema.GroupResource]string{
	{Resource: "namespaces"}: "the deletion of a namespace deletes all objects in it",
	{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}: "the deletion of a definition deletes all objects of its kind",
	{Group: "apiregistration.k8s.io", Resource: "apiservices"}:             "it has no immutable fields: update it",
	{Resource: "nodes"}:                                   "its pods would run on a node that the new object does not stand for",
	{Resource: "events"}:                                  "it is a record of what happened",
	{Group: "events.k8s.io", Resource: "events"}:          "it is a record of what happened",
	{Group: "coordination.k8s.io", Resource: "leases"}:    "two holders could believe that they have the lease",
	{Group: "networking.k8s.io", Resource: "ipaddresses"}: "the server stores it for the Service that has the address",
}

// Never returns the reason that no object of a resource is ever replaced, empty if objects of it may be.
func Never(resource schema.GroupResource) string { return never[resource] }

// Object is what the rules need to know about an object.
type Object struct {
	Resource schema.GroupResource
	// Kind and Name are those that a user allows the loss of data with.
	Kind, Name string
	Finalizers []string
	// Deleting says that the object has a deletionTimestamp.
	Deleting bool
	// DeletesClaims says that it is a StatefulSet whose claims are deleted with it: whenDeleted is Delete.
	DeletesClaims bool
	// Node is the node on which a pod runs, empty for every other object and for a pod that has ended.
	Node string
	// UsedBy names what uses a claim or a volume, empty if nothing does.
	UsedBy string
}

// Loss returns which data is lost with the object, beside the object itself. It is empty if there is none.
func (o Object) Loss() string {
	switch {
	case o.Resource == schema.GroupResource{Resource: "persistentvolumeclaims"}:
		return "the claim gives up its volume, and with the reclaim policy Delete the data in it is deleted"
	case o.Resource == schema.GroupResource{Resource: "persistentvolumes"}:
		return "the volume forgets its claim, and what it stands for may be deleted"
	case o.DeletesClaims:
		return "its claims are deleted with it, with the data in their volumes (spec.persistentVolumeClaimRetentionPolicy.whenDeleted is Delete)"
	}
	return ""
}

// Obstacle returns the reason that the object cannot be replaced now, nil if it can be. allowed has the objects, as KIND/NAME, whose data
// may be lost.
func (o Object) Obstacle(allowed []string) error {
	if reason := Never(o.Resource); reason != "" {
		return fmt.Errorf("%s are never replaced: %s", o.Resource, reason)
	}
	if o.Deleting {
		return fmt.Errorf("it is being deleted")
	}
	for _, name := range o.Finalizers {
		if err := o.held(name); err != nil {
			return err
		}
	}
	if o.Node != "" {
		return fmt.Errorf("the pod runs on the node %s, which has to stop it first: delete it and create it again", o.Node)
	}
	if loss := o.Loss(); loss != "" && !slices.ContainsFunc(allowed, o.isAllowedBy) {
		return fmt.Errorf("%s: allow that with allowDataLoss=%s/%s (holdfast apply --replace --allow-data-loss %[2]s/%[3]s)", loss, o.Kind, o.Name)
	}
	return nil
}

// held returns an error if a finalizer forbids the replacement: a controller waits for the deletion of the object to clean up after it.
func (o Object) held(finalizer string) error {
	protects := finalizer == claimProtection && o.Resource == schema.GroupResource{Resource: "persistentvolumeclaims"} ||
		finalizer == volumeProtection && o.Resource == schema.GroupResource{Resource: "persistentvolumes"}
	switch {
	case protects && o.UsedBy == "":
		return nil
	case protects:
		return fmt.Errorf("it has the finalizer %s, and is used by %s", finalizer, o.UsedBy)
	}
	return fmt.Errorf("it has the finalizer %s, so a controller has to clean up before it is gone: delete it and create it again", finalizer)
}

// isAllowedBy reports whether a KIND/NAME names the object. The kind may be in any case, as in kubectl.
func (o Object) isAllowedBy(allowed string) bool {
	kind, name, ok := strings.Cut(allowed, "/")
	return ok && name == o.Name && (strings.EqualFold(kind, o.Kind) || strings.EqualFold(kind, o.Resource.Resource))
}
