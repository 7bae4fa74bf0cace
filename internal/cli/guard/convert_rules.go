package guard

import (
	"encoding/json"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/source"
	"holdfast.dev/holdfast/internal/manifest"
	"holdfast.dev/holdfast/schema"
)

// annotationPath is the path of the annotation in a definition.
const annotationPath = "metadata.annotations[" + immutability.Annotation + "]"

// annotated is a definition whose rules are split: its schemas have those that a schema can state, and rest are the other lines of
// its annotation.
type annotated struct {
	manifest.Object
	rest []immutability.Mark
}

// split moves rules from the annotation of a definition into its schemas. The error names every line that is not a rule.
func split(o manifest.Object) (annotated, error) {
	out := annotated{Object: o}
	var raw map[string]any
	if err := utiljson.Unmarshal(o.JSON, &raw); err != nil {
		return out, err
	}
	metadata, _ := raw["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, _ := annotations[immutability.Annotation].(string)
	marks, err := immutability.ParseMarks(text)
	if err != nil || len(marks) == 0 {
		return out, err
	}
	spec, _ := raw["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, m := range marks {
		if !moveIntoSchemas(m, versions) {
			out.rest = append(out.rest, m)
		}
	}
	delete(annotations, immutability.Annotation)
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	out.JSON, err = json.Marshal(raw)
	return out, err
}

// moveIntoSchemas puts a rule into the schemas of the versions that have it. It reports whether they can state the rule: it has no
// condition, is about a field of the schema, and no version has another rule there.
func moveIntoSchemas(m immutability.Mark, versions []any) bool {
	if m.IsConditional() || m.IsNoDelete() || m.IsMetadata() {
		return false
	}
	var nodes []map[string]any
	isStated := false
	for _, v := range versions {
		version, _ := v.(map[string]any)
		name, _ := version["name"].(string)
		validation, _ := version["schema"].(map[string]any)
		root, _ := validation["openAPIV3Schema"].(map[string]any)
		node := m.Node(root)
		if node == nil || !m.In(name) {
			continue
		}
		decoded, _, err := schema.Decode(node)
		if err != nil {
			return false
		}
		switch immutability.MarkerOf(decoded) {
		case immutability.Free:
			nodes = append(nodes, node)
		case m.Marker:
		default:
			return false
		}
		isStated = true
	}
	for _, node := range nodes {
		node[m.Marker.Keyword()] = m.Marker.KeywordValue()
	}
	return isStated
}

// addRest adds the rules that no schema can state to the annotation of a converted definition. It returns what is wrong with them.
func (a annotated) addRest(definition map[string]any) (field.ErrorList, error) {
	if len(a.rest) == 0 {
		return nil, nil
	}
	metadata, _ := definition["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	text, _ := annotations[immutability.Annotation].(string)
	annotations[immutability.Annotation] = text + immutability.FormatMarks(a.rest)
	var err error
	if a.JSON, err = json.Marshal(definition); err != nil {
		return nil, err
	}
	decoded, err := source.Decode(a.Object)
	if err != nil {
		return nil, err
	}
	return decoded.AnnotationErrors(), nil
}
