// Package cursor provides the positions of SQL's cursors: which rows FETCH and MOVE yield, and where they leave the cursor.
package cursor
