package manifest

import (
	"strings"

	"sigs.k8s.io/yaml"
)

// KustomizationNames are the names under which kustomize looks for its file in a directory.
var KustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// Patches returns the files that a kustomization lists as patches. Their names are relative to its directory. A text that
// is no kustomization lists none.
func Patches(kustomization []byte) []string {
	var fields struct {
		// An entry has the field path, or is the name itself. It may also be the patch itself.
		Patches               []any `json:"patches"`
		PatchesStrategicMerge []any `json:"patchesStrategicMerge"`
		PatchesJSON6902       []any `json:"patchesJson6902"`
	}
	if err := yaml.Unmarshal(kustomization, &fields); err != nil {
		return nil
	}
	var names []string
	for _, entries := range [][]any{fields.Patches, fields.PatchesStrategicMerge, fields.PatchesJSON6902} {
		for _, entry := range entries {
			if object, ok := entry.(map[string]any); ok {
				entry = object["path"]
			}
			if name, ok := entry.(string); ok && name != "" && !strings.Contains(name, "\n") {
				names = append(names, name)
			}
		}
	}
	return names
}
