package api_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/api"
)

func ExampleAddToScheme() {
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		panic(err)
	}
	instance := &api.Instance{ObjectMeta: metav1.ObjectMeta{Name: api.InstanceName("zookeeper")}}
	kinds, _, err := scheme.ObjectKinds(instance)
	if err != nil {
		panic(err)
	}
	fmt.Println(kinds[0], instance.Name)
	// Output: kudo.dev/v1beta1, Kind=Instance zookeeper-instance
}
