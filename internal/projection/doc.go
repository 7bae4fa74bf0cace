// Package projection writes the volumes of pods to disk. Collect computes the files of
// a ConfigMap, Secret, downward API or projected volume. Writer writes them atomically:
// a reader sees either all old files or all new files.
//
//	payload, err := projection.Collect(pod, volume, sources)
//	changed, err := writer.Write(dir, payload)
//
// A payload holds the files of one volume by their path. The directory of a volume has
// the same layout as in the kubelet:
//
//	..2026_01_31_12_00_00.000000000/  a set: a directory with the files of the volume
//	..data -> ..2026_01_31_...        a link to the current set
//	app.conf -> ..data/app.conf       a link for each file or directory of the set
//
// Guarantees: Write syncs the new set and its links to disk before one rename makes it
// the current set. If the process is killed or the power fails at any point, the volume
// has either the complete old set or the complete new set. Repair and the next Write
// remove the incomplete sets and links that such a crash left. Files in the directory
// that the writer did not create stay as they are.
//
// A Writer has no state and may be used by several goroutines, but by only one at a time
// for each directory.
package projection
