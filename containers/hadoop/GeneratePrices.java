import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.SplittableRandom;

/**
 * Makes records of spot prices like those of li2018's table 6, from a seed.
 *
 * <p>{@code GeneratePrices SEED BYTES FILE} writes at least so many bytes, and prints the number of records, the bytes, and the
 * SHA-256 of the file. The same seed and size give the same bytes everywhere: the generators of random numbers are specified by
 * Java.
 *
 * <p>Amazon showed the prices of the last 60 days. Whoever downloads them once in 30 days has almost every record twice, as the
 * paper's authors had. So there are {@value #DOWNLOADS} downloads one after the other, each with two periods of 30 days, the
 * later of which the next one has again; 11 of 24 periods are duplicates. A period has as many records as any other, at times
 * that are spread evenly, the latest first. The instance of each record is drawn from {@value #KINDS} kinds (instance type,
 * operating system, zone), all as likely. Its price is drawn between 0.6 and 1.4 of the kind's own, with 4 significant decimals.
 */
public final class GeneratePrices {
    private static final int DOWNLOADS = 12;
    /** As many as in the paper. */
    private static final int KINDS = 1053;
    private static final long PERIOD_SECONDS = 30L * 24 * 3600;
    /** When the first period begins: 13 of them end on the day of the paper's table. */
    private static final long BEGIN = Instant.parse("2017-10-04T13:39:12Z").getEpochSecond() - (DOWNLOADS + 1) * PERIOD_SECONDS;
    private static final String TAG = "SPOTINSTANCEPRICE";
    /** About what a record takes (bytes), to know how many there are to be: an exact number would need all of them first. */
    private static final int RECORD_BYTES = 88;
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss'+0000'").withZone(ZoneOffset.UTC);

    private static final String[] FAMILIES = {
        "c1", "c3", "c4", "cc2", "cg1", "cr1", "d2", "g2", "hi1", "hs1", "i2", "i3", "m1", "m2", "m3", "m4", "p2", "r3", "r4", "t1", "x1",
    };
    private static final String[] SIZES = {"large", "xlarge", "2xlarge", "4xlarge", "8xlarge"};
    private static final String[] SYSTEMS = {
        "Linux/UNIX", "Linux/UNIX (Amazon VPC)", "SUSE Linux", "SUSE Linux (Amazon VPC)", "Windows", "Windows (Amazon VPC)",
    };
    private static final String[] ZONES = {"us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d", "us-east-1e"};

    private final long seed;
    private final long perPeriod;
    private final byte[][] kinds = new byte[KINDS][];
    private final int[] basePrices = new int[KINDS];

    private GeneratePrices(long seed, long bytes) {
        this.seed = seed;
        this.perPeriod = Math.max(1, bytes / RECORD_BYTES / (2 * DOWNLOADS) + 1);
        List<String> all = new ArrayList<>();
        for (String family : FAMILIES) {
            for (String size : SIZES) {
                for (String system : SYSTEMS) {
                    for (String zone : ZONES) {
                        all.add("\t" + family + "." + size + "\t" + system + "\t" + zone + "\n");
                    }
                }
            }
        }
        Collections.shuffle(all, new Random(seed));
        SplittableRandom random = new SplittableRandom(seed);
        for (int kind = 0; kind < KINDS; kind++) {
            kinds[kind] = all.get(kind).getBytes(StandardCharsets.US_ASCII);
            basePrices[kind] = random.nextInt(100, 6000);
        }
    }

    /** The records of a period, the latest first: the same whenever they are asked for. */
    private long period(int period, OutputStream out) throws IOException {
        SplittableRandom random = new SplittableRandom(seed * 1000 + period);
        long end = BEGIN + (period + 1) * PERIOD_SECONDS - 1;
        long lastSecond = -1;
        byte[] time = null;
        byte[] price = (TAG + "\t0.000000\t").getBytes(StandardCharsets.US_ASCII);
        int digits = TAG.length() + 1;
        for (long record = 0; record < perPeriod; record++) {
            long second = end - record * PERIOD_SECONDS / perPeriod;
            if (second != lastSecond) {
                time = TIME.format(Instant.ofEpochSecond(second)).getBytes(StandardCharsets.US_ASCII);
                lastSecond = second;
            }
            int kind = random.nextInt(KINDS);
            int value = basePrices[kind] * random.nextInt(60, 141) / 100;
            price[digits] = (byte) ('0' + value / 10000);
            price[digits + 2] = (byte) ('0' + value / 1000 % 10);
            price[digits + 3] = (byte) ('0' + value / 100 % 10);
            price[digits + 4] = (byte) ('0' + value / 10 % 10);
            price[digits + 5] = (byte) ('0' + value % 10);
            out.write(price);
            out.write(time);
            out.write(kinds[kind]);
        }
        return perPeriod;
    }

    private long write(OutputStream out) throws IOException {
        long records = 0;
        for (int download = 0; download < DOWNLOADS; download++) {
            // The later period first, as in every record of the latest ones.
            records += period(download + 1, out) + period(download, out);
        }
        return records;
    }

    public static void main(String[] arguments) throws IOException, NoSuchAlgorithmException {
        if (arguments.length != 3) {
            System.err.println("usage: GeneratePrices SEED BYTES FILE");
            System.exit(2);
        }
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        GeneratePrices generator = new GeneratePrices(Long.parseLong(arguments[0]), Long.parseLong(arguments[1]));
        long records;
        try (OutputStream out = new BufferedOutputStream(new DigestOutputStream(new FileOutputStream(arguments[2]), digest), 1 << 20)) {
            records = generator.write(out);
        }
        String told = String.format(Locale.ROOT, "records=%d sha256=%s", records, HexFormat.of().formatHex(digest.digest()));
        System.out.println(told);
    }
}
