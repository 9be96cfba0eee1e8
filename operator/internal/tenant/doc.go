// Package tenant brings HTAPTenants into force: it writes the tenants of each HTAPCluster into one ConfigMap, which the units' gateways
// read, and says of each tenant whether all units in service use it.
//
// Invariants: a user is in one tenant, the older one of two that claim it; no pod restarts for a tenant; tenants that every unit uses cause
// no write.
package tenant
