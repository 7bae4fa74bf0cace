package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/output"
	"holdfast.dev/holdfast/internal/node"
)

// digestLength is the number of hexadecimal digits of a digest that are shown.
const digestLength = 12

const nodeStatusHelp = `Show the volumes that an agent keeps under its root.

Each line is one object of one volume: its UID and version, its mode (watched or
immutable), the digest of its content, the time since the files changed, and whether
the files are still as the agent wrote them. The command only reads the disk, so it
works without the server and without the agent. It needs the rights of the user of
the agent.`

func newNodeStatusCommand(root *string) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the volumes that an agent keeps, from what is on disk",
		Long:  nodeStatusHelp,
		Example: `  holdfast node status --root /run/holdfast
  holdfast node status -o json`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			volumes, err := node.ReadStatus(*root)
			if err != nil {
				return fmt.Errorf("node status: %w", err)
			}
			if format != "" {
				return format.Print(cmd.OutOrStdout(), newVolumeReports(volumes))
			}
			if len(volumes) == 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "No volumes in %s.\n", *root)
				return nil
			}
			return printVolumes(cmd.OutOrStdout(), volumes, time.Now())
		},
	}
	format.AddFlag(cmd)
	return cmd
}

// volumeReport is a volume as -o json and -o yaml print it.
type volumeReport struct {
	Namespace string         `json:"namespace"`
	Pod       string         `json:"pod"`
	UID       types.UID      `json:"uid"`
	Volume    string         `json:"volume"`
	Path      string         `json:"path"`
	Digest    string         `json:"digest"`
	Projected time.Time      `json:"projected"`
	Sources   []sourceReport `json:"sources"`
	// Problem says how the files differ from those that the agent wrote.
	Problem string `json:"problem,omitempty"`
}

// sourceReport is an object of a volume. An optional object that does not exist has no UID.
type sourceReport struct {
	Kind            string    `json:"kind"`
	Name            string    `json:"name"`
	UID             types.UID `json:"uid,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	Mode            string    `json:"mode,omitempty"`
	Digest          string    `json:"digest,omitempty"`
}

func newVolumeReports(volumes []node.VolumeStatus) []volumeReport {
	reports := []volumeReport{}
	for _, v := range volumes {
		report := volumeReport{
			Namespace: v.Namespace, Pod: v.Pod, UID: v.UID, Volume: v.Volume, Path: v.Path, Digest: v.Digest,
			Projected: v.Projected.UTC(), Sources: []sourceReport{},
		}
		if v.Problem != nil {
			report.Problem = v.Problem.Error()
		}
		for _, s := range v.Sources {
			report.Sources = append(report.Sources, sourceReport{
				string(s.Kind), s.Name, s.UID, s.ResourceVersion, s.Mode, s.Digest,
			})
		}
		reports = append(reports, report)
	}
	return reports
}

func printVolumes(out io.Writer, volumes []node.VolumeStatus, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(table, "POD\tVOLUME\tSOURCE\tUID\tVERSION\tMODE\tDIGEST\tAGE\tFILES")
	for _, volume := range volumes {
		pod := volume.Namespace + "/" + volume.Pod
		age := duration.HumanDuration(now.Sub(volume.Projected))
		files := "ok"
		if volume.Problem != nil {
			files = volume.Problem.Error()
		}
		row := func(cells ...string) {
			fmt.Fprintln(table, strings.Join(append(append([]string{pod, volume.Volume}, cells...), age, files), "\t"))
		}
		for _, source := range volume.Sources {
			name := string(source.Kind) + "/" + source.Name
			if source.UID == "" {
				row(name, "-", "-", "absent", "-")
				continue
			}
			row(name, string(source.UID), source.ResourceVersion, source.Mode, short(source.Digest))
		}
		if len(volume.Sources) == 0 {
			row("-", "-", "-", "-", short(volume.Digest))
		}
	}
	return table.Flush()
}

// short returns the first digits of a digest, without the name of the hash.
func short(digest string) string {
	_, hex, _ := strings.Cut(digest, ":")
	return hex[:min(len(hex), digestLength)]
}
