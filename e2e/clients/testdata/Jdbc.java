import java.sql.*;
import java.util.*;

/** Prints what the JDBC driver sees; run directly and through the gateway. */
public class Jdbc {
    static void show(String title, ResultSet rs) throws SQLException {
        ResultSetMetaData m = rs.getMetaData();
        StringBuilder b = new StringBuilder(title);
        for (int i = 1; i <= m.getColumnCount(); i++)
            b.append(' ').append(m.getColumnName(i)).append(':').append(m.getColumnTypeName(i)).append(':').append(m.getScale(i));
        while (rs.next()) {
            b.append(" [");
            for (int i = 1; i <= m.getColumnCount(); i++) b.append(rs.getObject(i)).append('|');
            b.append(']');
        }
        System.out.println(b);
    }

    static void fails(Connection c, String sql) {
        try (PreparedStatement s = c.prepareStatement(sql)) {
            s.executeQuery();
            System.out.println("no error: " + sql);
        } catch (SQLException e) {
            System.out.println("error " + e.getSQLState() + " " + e.getMessage());
        }
    }

    public static void main(String[] a) throws Exception {
        Properties p = new Properties();
        p.setProperty("user", a[1]);
        p.setProperty("password", a[2]);
        p.setProperty("sslmode", "disable");
        p.setProperty("prepareThreshold", "2");
        try (Connection c = DriverManager.getConnection(a[0], p)) {
            try (PreparedStatement s = c.prepareStatement("SELECT id, name, price, at, day, flag FROM item WHERE price > ? ORDER BY id")) {
                for (int i = 0; i < 6; i++) { // from the second on a server-side statement, then binary
                    s.setInt(1, 95);
                    show("prepared", s.executeQuery());
                }
                s.setMaxRows(2);
                show("two rows", s.executeQuery());
            }
            fails(c, "SELECT nosuch FROM item");
            fails(c, "SELECT 1 / (count(*) - count(*)) FROM item");
            show("metadata", c.getMetaData().getColumns(null, "public", "item", null));
            try (Statement s = c.createStatement()) {
                show("simple", s.executeQuery("SELECT flag, count(*), avg(price) FROM item GROUP BY flag ORDER BY flag"));
                s.execute("SELECT 1; SELECT count(*) FROM item");
                do { show("several", s.getResultSet()); } while (s.getMoreResults());
            }
            c.setAutoCommit(false);
            try (Statement s = c.createStatement()) {
                s.setFetchSize(30);
                try (ResultSet rs = s.executeQuery("SELECT id FROM item ORDER BY id")) {
                    int n = 0;
                    while (rs.next()) n++;
                    System.out.println("fetched in pieces " + n);
                }
            }
            fails(c, "SELECT nosuch");
            fails(c, "SELECT 1");
            c.rollback();
            c.setReadOnly(true);
            c.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            try (Statement s = c.createStatement()) {
                show("read only", s.executeQuery("SELECT count(*), sum(price) FROM item"));
                System.out.println("valid " + c.isValid(5));
                show("metadata", c.getMetaData().getColumns(null, "public", "item", null));
                show("keys", c.getMetaData().getPrimaryKeys(null, "public", "item"));
                show("read only", s.executeQuery("SELECT max(id) FROM item"));
                s.setFetchSize(30);
                try (ResultSet rs = s.executeQuery("SELECT id FROM item ORDER BY id")) {
                    int n = 0, sum = 0;
                    while (rs.next()) {
                        n++;
                        sum += rs.getInt(1);
                    }
                    System.out.println("read only, fetched in pieces " + n + " " + sum);
                }
            }
            c.commit();
            c.setReadOnly(false);
            try (PreparedStatement s = c.prepareStatement("INSERT INTO item (id, name) VALUES (?, ?)")) {
                for (int i = 1; i <= 50; i++) {
                    s.setInt(1, -i);
                    s.setString(2, "batch");
                    s.addBatch();
                }
                System.out.println("batch " + s.executeBatch().length);
            }
            c.rollback();
            c.setAutoCommit(true);
            try (Statement s = c.createStatement()) {
                s.setQueryTimeout(1);
                s.execute("SELECT pg_sleep(60)");
            } catch (SQLException e) {
                System.out.println("cancelled " + e.getSQLState());
            }
        }
    }
}
