package managers_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/managers"
	"holdfast.dev/holdfast/ownership"
)

func ExampleFields_Release() {
	fields := managers.New([]metav1.ManagedFieldsEntry{{
		Manager: "ci", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:paused":{},"f:replicas":{}}}`),
	}}, time.Now())
	path, err := ownership.ParsePath(".spec.replicas")
	if err != nil {
		panic(err)
	}
	if _, err := fields.Release(path, "by-hand"); err != nil {
		panic(err)
	}
	for _, entry := range fields.Entries() {
		fmt.Println(entry.Manager, entry.Operation, entry.FieldsV1.GetRawString())
	}
	// Output:
	// ci Apply {"f:spec":{"f:paused":{}}}
	// by-hand Update {"f:spec":{"f:replicas":{}}}
}
