package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The names of the controllers are those of kube-controller-manager, which has no Collection. Signing runs in
// every server, see package access/certificate.
const (
	Namespaces      = "namespace-controller"
	PodsOfLostNodes = "pod-garbage-collector-controller"
	Accounts        = "serviceaccount-controller"
	Quotas          = "resourcequota-controller"
	Garbage         = "garbage-collector-controller"
	ClaimsInUse     = "persistentvolumeclaim-protection-controller"
	VolumesInUse    = "persistentvolume-protection-controller"
	ClassesInUse    = "volumeattributesclass-protection-controller"
	RootCAs         = "root-ca-certificate-publisher-controller"
	Migrations      = "storage-version-migrator-controller"
	Collection      = "unused-configuration-controller"
	Signing         = "certificatesigningrequest-signing-controller"
)

// names returns all names, sorted.
func names() []string {
	all := []string{Namespaces, PodsOfLostNodes, Accounts, Quotas, Garbage, ClaimsInUse, VolumesInUse, ClassesInUse, RootCAs, Migrations, Collection, Signing}
	slices.Sort(all)
	return all
}

// Selection says which controllers run, in the form of kube-controller-manager's --controllers: "*"
// for all, a name for one, and "-" and a name for all but one. An empty selection means all.
type Selection []string

// Check returns an error for a name that no controller has, and for the quota controller without
// the garbage collector, which counts objects for it.
func (s Selection) Check() error {
	for _, entry := range s {
		if name := strings.TrimPrefix(entry, "-"); name != "*" && !slices.Contains(names(), name) {
			return fmt.Errorf("--controllers: unknown controller %q: the controllers here are %s", name, strings.Join(names(), ", "))
		}
	}
	if s.Has(Quotas) && !s.Has(Garbage) {
		return errors.New("--controllers: " + Quotas + " counts objects with the watches of " + Garbage + ": turn both off, or none")
	}
	return nil
}

// Has reports whether a controller runs. An entry with its name decides. Without such an entry, the
// last one of "*" and "-*" decides.
func (s Selection) Has(name string) bool {
	switch {
	case len(s) == 0 || slices.Contains(s, name):
		return true
	case slices.Contains(s, "-"+name):
		return false
	}
	for _, entry := range slices.Backward(s) {
		if entry == "*" || entry == "-*" {
			return entry == "*"
		}
	}
	return false
}

// NeedsLease reports whether the selection has a controller that needs the Lease.
func (s Selection) NeedsLease() bool {
	return slices.ContainsFunc(names(), func(name string) bool { return name != Signing && s.Has(name) })
}
