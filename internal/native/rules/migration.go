package rules

import (
	"fmt"
	"strings"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/validation"
)

func migrationRules() []rule {
	return []rule{
		require[metav1.GroupResource]("resource", "resource is required to be set"),
		onField[metav1.GroupResource]("resource", joined(validation.IsDNS1035Label)),
		notRequired[metav1.GroupResource]("group"), // the core group has no name
		onField[metav1.GroupResource]("group", joined(validation.IsDNS1123Subdomain)),
	}
}

// joined checks a string that is not empty, with one error for all messages.
func joined(validate func(string) []string) func(*report, string) {
	return func(r *report, s string) {
		if messages := validate(s); s != "" && len(messages) > 0 {
			r.invalid(s, strings.Join(messages, ","))
		}
	}
}

// migrationStatus checks a write to the status of a StorageVersionMigration. The start of a migration does not change, and a migration
// that has ended does not run again.
func migrationStatus(r *report, m *storagemigrationv1.StorageVersionMigration) {
	r.under(func() {
		status := m.Status
		if version := status.ResourceVersion; version != "" {
			if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
				r.invalid(version, err.Error(), "resourceVersion")
			}
		}
		r.under(func() { conditions(r, status.Conditions) }, "conditions")
		old, ok := r.old.(*storagemigrationv1.StorageVersionMigration)
		if ok && old.Status.ResourceVersion != "" && old.Status.ResourceVersion != status.ResourceVersion {
			r.immutable(status.ResourceVersion, "resourceVersion")
		}
		if hasEnded(m, storagemigrationv1.MigrationSucceeded) && hasEnded(m, storagemigrationv1.MigrationFailed) {
			r.invalid(status.Conditions, "Both success and failed conditions cannot be true at the same time", "conditions")
		}
		for _, end := range []struct {
			condition storagemigrationv1.MigrationConditionType
			name      string
		}{{storagemigrationv1.MigrationSucceeded, "Success"}, {storagemigrationv1.MigrationFailed, "Failed"}} {
			if ok && hasEnded(old, end.condition) && !hasEnded(m, end.condition) {
				r.invalid(status.Conditions, fmt.Sprintf("%s condition cannot be set to false once it is true", end.name), "conditions")
			}
		}
	}, "status")
}

// hasEnded reports whether a migration has ended in one of the two ways.
func hasEnded(m *storagemigrationv1.StorageVersionMigration, how storagemigrationv1.MigrationConditionType) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, string(how))
}
