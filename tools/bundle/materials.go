package bundle

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// bill is a bill of materials in the form of CycloneDX 1.6.
type bill struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

// metadata describes the program that the bill is for.
type metadata struct {
	Timestamp string     `json:"timestamp"`
	Component component  `json:"component"`
	Lifecycle []phase    `json:"lifecycles"`
	Property  []property `json:"properties,omitempty"`
}

// phase is the phase of the life of a program in which a bill is made.
type phase struct {
	Phase string `json:"phase"`
}

// property is a setting of the build.
type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// component is a module that the program contains.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

// dependency lists the components that one component contains.
type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// writeMaterials writes the bill of materials of a program, from the information that the Go
// linker has put into it: the modules that are in the program, and nothing else.
func (r Release) writeMaterials(b Binary) error {
	info, err := buildinfo.ReadFile(b.Path)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(r.materials(info), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.Out, r.name(b.Platform, ".cdx.json")), append(data, '\n'), 0o644)
}

// materials returns the bill of materials for the information in a program.
func (r Release) materials(info *debug.BuildInfo) bill {
	whole := moduleComponent("application", info.Main.Path, r.Version)
	made := bill{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: metadata{
			Timestamp: r.Date.Format(time.RFC3339), Component: whole, Lifecycle: []phase{{"build"}},
			Property: []property{{"holdfast:commit", r.Commit}},
		},
	}
	for _, setting := range info.Settings {
		made.Metadata.Property = append(made.Metadata.Property, property{"go:build:" + setting.Key, setting.Value})
	}
	made.Components = append(made.Components, moduleComponent("library", "stdlib", strings.TrimPrefix(info.GoVersion, "go")))
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		made.Components = append(made.Components, moduleComponent("library", module.Path, module.Version))
	}
	contained := dependency{Ref: whole.Ref}
	for _, c := range made.Components {
		contained.DependsOn = append(contained.DependsOn, c.Ref)
	}
	made.Dependencies = []dependency{contained}
	return made
}

// moduleComponent returns a Go module as a component. Its package URL is the name by which
// databases of vulnerabilities know it.
func moduleComponent(kind, path, version string) component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: kind, Ref: url, Name: path, Version: version, PURL: url}
}
