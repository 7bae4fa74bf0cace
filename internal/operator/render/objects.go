package render

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Objects decodes the output of a template: YAML documents. It skips empty documents and
// returns the items of a List. Errors name the document, counted from 1.
func Objects(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", number, err)
		}
		found, err := object(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", number, err)
		}
		objects = append(objects, found...)
	}
}

// object decodes one document, which may be a List.
func object(document []byte) ([]*unstructured.Unstructured, error) {
	content, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(content, []byte("null")) {
		return nil, nil
	}
	var value any
	if err := json.Unmarshal(content, &value); err != nil {
		return nil, err
	}
	fields, isObject := value.(map[string]any)
	if !isObject {
		return nil, fmt.Errorf("a Kubernetes object is expected, not %.40s", content)
	}
	found := &unstructured.Unstructured{Object: fields}
	if found.IsList() && found.GetKind() == "List" {
		return listed(found)
	}
	return []*unstructured.Unstructured{found}, complete(found)
}

// listed returns the items of a List.
func listed(list *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	items, _ := list.Object["items"].([]any)
	var found []*unstructured.Unstructured
	for i, item := range items {
		fields, isObject := item.(map[string]any)
		if !isObject {
			return nil, fmt.Errorf("items[%d]: a Kubernetes object is expected", i)
		}
		each := &unstructured.Unstructured{Object: fields}
		if err := complete(each); err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		found = append(found, each)
	}
	return found, nil
}

// complete returns an error for each of apiVersion, kind and name that is missing.
func complete(found *unstructured.Unstructured) error {
	var lacks []error
	if found.GetAPIVersion() == "" {
		lacks = append(lacks, errors.New("apiVersion: required"))
	}
	if found.GetKind() == "" {
		lacks = append(lacks, errors.New("kind: required"))
	}
	if metadata, isObject := found.Object["metadata"].(map[string]any); !isObject {
		lacks = append(lacks, errors.New("metadata: required"))
	} else if name, isText := metadata["name"].(string); !isText || name == "" {
		lacks = append(lacks, errors.New("metadata.name: required"))
	}
	return errors.Join(lacks...)
}
