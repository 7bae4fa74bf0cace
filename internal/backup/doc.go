// Package backup holds the file format of backups: the objects and the keys of a server in one file.
//
//	w := backup.NewWriter(file, backup.Info{Version: "1.0.0", Created: time.Now()})
//	err := w.Stream("etcd.db", snapshot)
//	err = w.File("pki/ca.key", key)
//	err = w.Close()
//
//	info, err := backup.Extract(file, dir)
//
// A backup is a tar archive. Its last entry, the index, lists the size and the SHA-256 digest of every other
// entry, and has a digest of itself. The length of a stream is not known at its beginning, so the archive has
// a stream in parts: etcd.db is etcd.db/000000, etcd.db/000001 and so on.
//
// Check and Extract accept a backup only if every byte is what a Writer writes for its entries. So a backup
// that is cut off, extended or changed at any place is an error. Only zeros may follow the end, as
// programs write them that copy blocks.
package backup
