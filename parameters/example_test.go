package parameters_test

import (
	"fmt"

	"holdfast.dev/holdfast/parameters"
)

func ExampleUpgrade() {
	size := "5Gi"
	from := &parameters.Version{
		Name: "zookeeper-3.6-0.1.0", Operator: "zookeeper", Version: "0.1.0", Plans: []string{"deploy"},
		Definitions: []parameters.Definition{{Name: "DISK_SIZE", Default: &size}},
	}
	to := &parameters.Version{
		Name: "zookeeper-3.6-0.2.0", Operator: "zookeeper", Version: "0.2.0", Plans: []string{"deploy", "upgrade"},
		Definitions: []parameters.Definition{{Name: "DISK_SIZE", Default: &size, Immutable: true}},
	}
	fmt.Println(parameters.Upgrade(from, to, parameters.Request{}).Err())

	decision := parameters.Upgrade(from, to, parameters.Request{Consented: []string{"DISK_SIZE"}})
	fmt.Println(decision.Values, decision.Plan)
	// Output:
	// parameter 'DISK_SIZE' was changed to immutable in operator version 0.2.0 but no value was provided
	// map[DISK_SIZE:5Gi] upgrade
}
