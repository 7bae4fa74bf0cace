package finding

import (
	"io"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The types of SARIF 2.1.0 that a report needs. See
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
		// Properties are free in SARIF.
		Properties *sarifProperties `json:"properties,omitempty"`
	}
	sarifProperties struct {
		Skipped *skippedJSON `json:"skipped"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		// Physical is nil for an object of a server.
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

func (r *Report) writeSARIF(out io.Writer) error {
	driver := sarifDriver{Name: "holdfast", Version: r.Version, Rules: []sarifRule{}}
	for _, rule := range r.Rules {
		driver.Rules = append(driver.Rules, sarifRule{rule.ID, sarifText{rule.Summary}})
	}
	results := []sarifResult{}
	for _, f := range r.Findings {
		message := strings.Join(append([]string{f.text()}, f.details()...), "\n")
		var location sarifLocation
		if f.File == "" {
			message = f.Object + ": " + message
		} else {
			location.Physical = &sarifPhysical{Artifact: sarifArtifact{uri(f.File)}, Region: sarifRegion{f.Line, f.Column}}
		}
		if f.Object != "" {
			location.Logical = []sarifLogical{{path.Join(f.Object, f.Path)}}
		}
		results = append(results, sarifResult{
			RuleID:    f.Rule,
			RuleIndex: slices.IndexFunc(r.Rules, func(rule Rule) bool { return rule.ID == f.Rule }),
			Level:     f.Severity.String(),
			Message:   sarifText{message},
			Locations: []sarifLocation{location},
		})
	}
	run := sarifRun{Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: results}
	if skipped := r.skippedJSON(); skipped != nil {
		run.Properties = &sarifProperties{skipped}
	}
	return encode(out, sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

// uri returns the name of a file as a relative or absolute URI.
func uri(file string) string {
	location := url.URL{Path: filepath.ToSlash(file)}
	if path.IsAbs(location.Path) {
		location.Scheme = "file"
	}
	return location.String()
}
