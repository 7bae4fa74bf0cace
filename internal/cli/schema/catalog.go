package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/source"
	"holdfast.dev/holdfast/internal/manifest"
)

// catalog is the definitions that the flag --crd names.
type catalog struct {
	args        []string
	definitions []*kind
}

// kind is a definition, compiled.
type kind struct {
	*source.Definition
	versions map[string]*definition.Compiled
}

// addFlag adds the flag --crd.
func (c *catalog) addFlag(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&c.args, "crd", nil, "files, directories or patterns with the definitions")
}

// load reads the definitions.
func (c *catalog) load(cmd *cobra.Command) error {
	if len(c.args) == 0 {
		return errors.New("name the files with the definitions with --crd")
	}
	found, err := readDefinitions(cmd, c.args)
	if err != nil {
		return err
	}
	for _, def := range found.all {
		versions, err := definition.Compile(def.CustomResourceDefinition)
		if err != nil {
			return fmt.Errorf("%s: %w", at(def.Object, ""), err)
		}
		c.definitions = append(c.definitions, &kind{def, versions})
	}
	return nil
}

// errNoDefinition is the error for an object without a definition.
var errNoDefinition = errors.New("no definition")

// find returns the definition and the version of an object.
func (c *catalog) find(o manifest.Object) (*kind, *definition.Compiled, error) {
	version := o.APIVersion[strings.LastIndexByte(o.APIVersion, '/')+1:]
	for _, def := range c.definitions {
		if def.Spec.Group != group(o.APIVersion) || def.Spec.Names.Kind != o.Kind {
			continue
		}
		if compiled := def.versions[version]; compiled != nil {
			return def, compiled, nil
		}
		var names []string
		for _, v := range def.Spec.Versions {
			names = append(names, v.Name)
		}
		return nil, nil, fmt.Errorf("%s: %s has no version %s; it has %s",
			at(o, "apiVersion"), def.Name, version, strings.Join(names, ", "))
	}
	return nil, nil, fmt.Errorf("%s: %w of kind %s in %s, in %s",
		at(o, ""), errNoDefinition, o.Kind, o.APIVersion, strings.Join(c.args, ", "))
}

// group returns the API group of an apiVersion.
func group(apiVersion string) string {
	name, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return name
}

// inputObject is an object of an input.
type inputObject struct {
	manifest.Object
	// Explicit is true if an argument names the file of the object.
	Explicit bool
}

// readObjects reads the objects that arguments name. In a directory it skips documents that
// are not YAML.
func readObjects(cmd *cobra.Command, args []string) ([]inputObject, error) {
	inputs, err := manifest.Expand(args)
	if err != nil {
		return nil, err
	}
	files, err := each(cmd, inputs, func(_ context.Context, input manifest.Input, data []byte) ([]inputObject, error) {
		var objects []inputObject
		for _, document := range manifest.Split(displayName(input), data) {
			found, err := document.Objects()
			var syntax *manifest.SyntaxError
			switch {
			case err != nil && !input.Explicit:
			case errors.As(err, &syntax):
				return nil, fmt.Errorf("%s:%d: %s", document.File, syntax.Line, syntax.Detail)
			}
			for _, o := range found {
				objects = append(objects, inputObject{o, input.Explicit})
			}
		}
		return objects, nil
	})
	if err != nil {
		return nil, err
	}
	var all []inputObject
	for _, objects := range files {
		all = append(all, objects...)
	}
	return all, nil
}

// at returns the place of a field of an object, for messages.
func at(o manifest.Object, path string) string {
	position := o.Locate(path)
	return fmt.Sprintf("%s:%d:%d", o.File, position.Line, position.Column)
}
