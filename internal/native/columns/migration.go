package columns

import (
	"slices"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var migrations = table(name,
	text("Resource", "GroupResource to migrate", func(m *storagemigrationv1.StorageVersionMigration) string { return m.Spec.Resource.String() }),
	text("Status", "Status of the migration", migrationState))

// migrationState returns the last of the conditions that are true.
func migrationState(m *storagemigrationv1.StorageVersionMigration) string {
	for _, condition := range slices.Backward(m.Status.Conditions) {
		if condition.Status != metav1.ConditionTrue {
			continue
		}
		switch kind := storagemigrationv1.MigrationConditionType(condition.Type); kind {
		case storagemigrationv1.MigrationRunning, storagemigrationv1.MigrationFailed, storagemigrationv1.MigrationSucceeded:
			return condition.Type
		}
	}
	return "Unknown"
}
