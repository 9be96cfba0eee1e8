// Package profile provides the settings that the columnar engine's queries start from, wherever the engine runs.
package profile
