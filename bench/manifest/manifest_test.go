package manifest

import (
	"encoding/base64"
	"testing"
)

// The status of a pod has the same address in all generations: a patch that changes it would add a second one.
func TestPodStatus(t *testing.T) {
	address := func(generation int) any { return PodStatus(generation)["status"].(Map)["podIPs"].(List)[0].(Map)["ip"] }
	if first, second := address(1), address(2); first != second {
		t.Errorf("the address changes from %v to %v", first, second)
	}
}

// A Secret has the values of the ConfigMap, and a large ConfigMap the size that it was asked for.
func TestConfigs(t *testing.T) {
	config, secret := ConfigMap("one", 7)["data"].(Map), Secret("one", 7)["data"].(Map)
	for key, value := range config {
		encoded, _ := secret[key].(string)
		if got, err := base64.StdEncoding.DecodeString(encoded); err != nil || string(got) != value {
			t.Errorf("%s: the Secret has %q, %v; want %q", key, got, err, value)
		}
	}
	for _, size := range []int{10, 100_000} {
		if file, _ := LargeConfigMap("one", size)["data"].(Map)["file"].(string); len(file) != size {
			t.Errorf("a ConfigMap of %d bytes has %d", size, len(file))
		}
	}
}
