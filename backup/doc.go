// Package backup holds the file format of backups: the objects and the keys of a server in one file.
//
//	w := backup.NewWriter(file, backup.Info{Version: "1.0.0", Created: time.Now()})
//	err := w.Stream("etcd.db", snapshot)
//	err = w.File("pki/ca.key", key)
//	err = w.Close()
//
//	info, err := backup.Extract(file, dir)
//
// A backup is a tar archive. Its last entry lists the size and the SHA-256 digest of every other entry, so
// that a backup that is cut off or damaged is an error. The length of a stream is not known at its
// beginning, so the archive has a stream in parts: etcd.db is etcd.db/000000, etcd.db/000001 and so on.
package backup
