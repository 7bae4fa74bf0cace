// Package maintenance has what an administrator does with the data of a server: back it up, restore it, and look at the condition of
// the disk, the certificates and etcd.
//
//	err := maintenance.Backup(ctx, config, maintenance.BackupOptions{}, file)
//	restored, err := maintenance.Restore(file, dataDir)
//	diagnosis, err := maintenance.Diagnose(ctx, config)
//
// Backup and Diagnose open the data directory of a server that is not running. A running server serves both over HTTP, see Serve.
package maintenance
